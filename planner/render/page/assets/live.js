// The served page: it follows the plan, and asks questions about it.
"use strict";
const isReport = data.live === "report"; // of a fleet or a stack
let version = data.version || 0; // of the plan on the page

async function request(route, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(route, options);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.json();
}
/** Show the state of planning: what is wrong, or what the last change of files has changed. */
function showState(state) {
  const hasErrors = /^Error/m.test(state.problems), isBroken = hasErrors && !state.is_shown;
  if (hasErrors && state.problems !== $("problems").textContent) say(`${isBroken ? "Planning failed." : "The plan has errors."} ${state.problems.match(/^Error.*/m)[0]}`);
  $("state").textContent = state.planning ? "Planning\u2026"
    : isBroken ? `Planning failed.${version ? " The page shows the last plan without errors." : ""}` : `Live: planned ${state.at}${hasErrors ? ", with errors" : ""}.`;
  $("again").hidden = state.planning;
  $("problems").hidden = !state.problems;
  $("problems").textContent = state.problems;
  document.body.classList.toggle("stale", isBroken);
}
const events = new EventSource("events");
events.onmessage = async event => {
  const state = JSON.parse(event.data);
  showState(state);
  if (state.version === version || state.planning) return;
  version = state.version;
  const judged = data.verdicts, units = unitFacts(), kept = $("details").querySelector(".asked") ? [...$("details").children].filter(child => !child.matches("#since, .earlier, .crumb")) : null;
  renew(await request("plan"));
  ({ version } = data);
  if (isReport) document.querySelector(".below").outerHTML = data.below;
  if (isReport && !kept) { showUnits(units); return; }
  if (kept) details(el("p", { class: "why earlier" }, "This answer is about an earlier plan. ", button("Ask again", () => askAgain())), ...kept);
  if (state.difference) {
    const verdicts = verdictParts(judged, data.verdicts), { rows } = state.difference;
    $("details").prepend(el("section", { id: "since", "aria-label": "Since the last plan" }, el("h2", {}, "Since the last plan"), ...differenceParts(state.difference, "The plan is unchanged."), ...verdicts));
    say(`Planned again: ${rows.length ? several(rows.length, "difference") : "unchanged"}${verdicts.length ? "; verdicts of policies differ" : ""}.`);
  }
  fillVariables();
};
events.onerror = () => { $("state").textContent = "planner does not answer. It may have been stopped."; };

/** The verdicts of policies that are new or gone. */
function verdictParts(before, after) {
  const texts = verdicts => new Set(verdicts.map(verdict => JSON.stringify(verdict))), [was, now] = [texts(before), texts(after)];
  const items = (verdicts, others, sign) => verdictItems(verdicts.filter(verdict => !others.has(JSON.stringify(verdict))), `${sign} `);
  const found = [...items(after, was, "+"), ...items(before, now, "-")];
  return found.length ? [el("h3", {}, "Policies"), some(el("ul", { class: "plain" }), found, item => item, 20)] : [];
}
/** The outcome of each unit of a report, and the facts that tell plans apart. */
function unitFacts() {
  const facts = unit => scene.view.nodes.facts[scene.nodeOf.get(unit)] || [];
  return new Map(data.changes.map(([unit, action]) => [unit, [wordsOf.get(action) || "no change", ...facts(unit).filter(([word]) => ["Objects", "error"].includes(word)).map(fact => fact.join(": "))]]));
}
/** The units of which another plan was made. */
function showUnits(before) {
  if (!before.size) return;
  const after = unitFacts(), lines = texts => texts === undefined ? "not planned" : texts.join("; ");
  const rows = [...new Set([...before.keys(), ...after.keys()])].filter(unit => lines(before.get(unit)) !== lines(after.get(unit)));
  const item = unit => el("li", {}, changeButton(unit), el("div", { class: "why" }, `${lines(before.get(unit))} \u2192 ${lines(after.get(unit))}`));
  $("details").prepend(el("section", { id: "since", "aria-label": "Since the last plan" }, el("h2", {}, "Since the last plan"),
    rows.length ? some(el("ul", { class: "plain" }), rows, item, 20) : el("p", {}, "All results are unchanged.")));
  say(`Planned again: ${rows.length ? several(rows.length, "difference") : "unchanged"}.`);
}
$("again").addEventListener("click", () => request("plan-again", {}));

/** Show another document, with what is folded, chosen and in view as it was. */
function renew(document_) {
  const was = scene, eye = { ...drawing.eye }, atRest = foldedAtRest() || was.folded, folded = new Map(was.boxes.map((box, b) => [box.name, atRest[b]]));
  take(document_);
  scenes.clear();
  const n = Math.max(0, data.views.findIndex(view => view.name === was.view.name));
  scene = new Scene(data.views[n]);
  scenes.set(n, scene);
  if (was.count) {
    const { visible, implied: shown, onlyChanged } = was;
    Object.assign(scene, { visible, implied: shown, onlyChanged: onlyChanged && scene.boxes[0].changed > 0 });
    scene.open();
    scene.boxes.forEach((box, b) => { if (folded.has(box.name)) scene.folded[b] = folded.get(box.name); });
    scene.arrange();
  }
  group = null; start = null; actionFilter = null; rest = null;
  hideBanner();
  drawing.show(scene);
  if (was.count && scene.where.size > 1 && Math.abs(scene.rect[0].w - was.rect[0].w) + Math.abs(scene.rect[0].h - was.rect[0].h) < 1) { drawing.eye = eye; drawing.redraw(true); }
  document.title = data.title;
  document.querySelector("h1").textContent = data.title;
  $("about").replaceChildren(...data.about.map(([word, text]) => el("div", {}, el("dt", {}, word), " ", el("dd", /\b[1-9]\d* denied\b/.test(text) ? { class: "denied" } : {}, text))));
  fillPanes(); follow(); fillAddresses();
}
/** The addresses that can be asked about, for completion. */
const fillAddresses = () => $("addresses").replaceChildren(...data.changes.slice(0, 2000).map(([address]) => el("option", { value: address })));
fillAddresses();

// ---------------------------------------------------------------- questions

const CALM_WORDS = { "": "no change", absent: "not planned" }, DONE = { delete: "destroy", update: "update in-place" };
/** Two plans side by side: the actions and values of each object that differ, by cause. */
function differenceParts({ rows, counts, more }, none) {
  if (!rows.length) return [el("p", {}, none)];
  const causes = new Map(), words = action => action in CALM_WORDS ? [CALM_WORDS[action]] : [isReport ? "" : swatch(action), DONE[action] || action];
  for (const row of rows) { if (causes.has(row[3])) causes.get(row[3]).push(row); else causes.set(row[3], [row]); }
  const item = ([address, one, other, , values], short) => el("li", {}, changeButton(address, short),
    one === other ? null : el("div", {}, ...words(one), " \u2192 ", ...words(other)),
    one === other && !values.length ? el("div", { class: "why" }, "other values, known after apply") : null,
    ...values.map(([what, was, is]) => el("div", { class: "why" }, `${what.replace(`${address}.`, "").replace(address, "value")}: ` +
      (was === is ? `a different value${was.startsWith("(") ? ` ${was}` : ""}` : `${was || "known after apply"} \u2192 ${is || "known after apply"}`))));
  return [el("p", {}, counts[0] === counts[1] ? counts[0] : `${counts[0]} \u2192 ${counts[1]}`),
    ...[...causes].flatMap(([cause, those]) => [cause || causes.size > 1 ? el("h3", {}, cause || "Other differences") : "", some(el("ul", { class: "plain" }), those, item, 20, row => row[0])]),
    more ? el("p", {}, `${more} more objects differ.`) : null];
}
function showDifference(title, { one, other, ...difference }, again) {
  details(el("h2", { class: "asked" }, short(title)), el("p", { class: "why" }, `${one} \u2192 ${other}`), ...differenceParts(difference, "The two plans do not differ."));
  say(`${short(title)}: ${several(difference.rows.length, "difference")}.`);
  askAgain = again;
  $("details").focus();
}
const short = text => text.length > 120 ? `${text.slice(0, 117)}\u2026` : text;
function showAnswer(title, { text, problems }, again, all) {
  details(el("h2", { class: "asked" }, short(title)), text ? el("pre", { class: "answer" }, text) : null, problems ? el("pre", { class: "problem" }, problems) : null,
    text || problems ? null : el("p", {}, "No answer."), all && /-full\b/.test(text) ? el("p", {}, button("Show everything (-full)", all)) : null);
  say(`${short(title)} ${short((text || problems).split("\n")[0])}`);
  askAgain = again;
  $("details").focus();
}
let askAgain = null; // asks the question again whose answer is shown
async function answered(title, route, body) {
  say("Waiting for the answer\u2026");
  try { return await request(route, body); } catch (problem) { showAnswer(title, { text: "", problems: String(problem.message) }); return null; }
}
const KINDS_OF = { why: "Why", "why-not": "Why not", fix: "How to avoid it", query: "Query" };
async function question(kind, text, words, full = false) {
  const title = text ? `${KINDS_OF[kind]}: ${text}` : kind === "why" ? "Why: all changes" : KINDS_OF[kind];
  const found = await answered(title, "question", { kind, text, full, ...(words ? { words } : {}) });
  if (found) showAnswer(title, found, () => question(kind, text, words, full), full ? null : () => question(kind, text, words, true));
}
/** The question that was typed: a text that is the name of a thing on the page is one word. */
const askTyped = () => { const text = $("question").value; question($("kind").value, text, text && scene.find(text) !== null ? [text] : undefined); };
$("ask").addEventListener("click", askTyped);
$("question").addEventListener("keydown", event => { if (event.key === "Enter") askTyped(); });
extras.push(node => {
  const [change] = scene.changes(node), subject = change ? change[0] : null;
  if (!subject || noun === "component") return [];
  return [el("p", {}, button("Why", () => question("why", subject, [subject])), " ",
    isReport || change[1] === "no-op" ? null : button("How to avoid it", () => question("fix", subject, [subject])))];
});

/** A control for each variable, by its type. */
async function fillVariables() {
  if (!$("trying").open) return;
  const { variables = [] } = await request("variables"), typed = new Map(controls().map(input => [input.dataset.name, input.value]));
  const control = ({ name, type, description, value, sensitive }) => {
    const id = `var-${name}`, choices = type === "bool" ? ["", "true", "false"] : null, properties = { id, "data-name": name, title: description };
    const input = choices ? el("select", properties, ...choices.map(choice => el("option", { value: choice }, choice || `unchanged (${value || "null"})`)))
      : el("input", { ...properties, type: "text", class: sensitive ? "secret" : "", placeholder: sensitive ? "(sensitive value)" : value, autocomplete: "off", spellcheck: "false" });
    input.value = typed.get(name) || "";
    return el("p", {}, el("label", { for: id }, `${name} `, el("span", { class: "why" }, type)), input);
  };
  $("variables").replaceChildren(...variables.map(control), variables.length ? "" : el("p", {}, "The root module has no variables."));
}
const controls = () => [...$("variables").querySelectorAll("[data-name]")];
$("trying").addEventListener("toggle", fillVariables);
$("try").addEventListener("click", () => tryValues(controls().filter(input => input.value !== "").map(input => [input.dataset.name, input.value, input.className])));
async function tryValues(given) {
  const title = `What if ${given.map(([name, value, secret]) => `${name} = ${secret ? "(sensitive value)" : value}`).join(", ")}`;
  const found = await answered(title, "what-if", { variables: Object.fromEntries(given) });
  if (found) (found.rows ? showDifference : showAnswer)(title, found, () => tryValues(given));
}

// ---------------------------------------------------------------- snapshots

async function fillSnapshots(answer) {
  const { snapshots } = answer || await request("snapshots"), options = () => [...snapshots, [0, "The current plan"]].map(([number, name]) => el("option", { value: number }, name));
  $("one").replaceChildren(...options()); $("other").replaceChildren(...options());
  $("other").value = 0;
  $("comparing").hidden = !snapshots.length;
}
/** Change the snapshots on the server. Returns its answer, null if that failed. */
async function changed(route, body) {
  const answer = await answered("Snapshots", route, body);
  if (answer && answer.problems) showAnswer("Snapshots", answer);
  if (!answer || answer.problems) return null;
  await fillSnapshots(answer);
  return answer;
}
$("keep").addEventListener("click", async () => {
  const kept = await changed("keep", { name: $("naming").value });
  if (kept) say(`The plan is kept.${kept.removed.map(name => ` The oldest snapshot was removed: ${name}`).join("")}`);
  $("naming").value = "";
});
$("drop").addEventListener("click", async () => { if (await changed("drop", { number: +$("one").value })) say("The snapshot is removed."); });
$("compare").addEventListener("click", () => comparePlans(+$("one").value, +$("other").value));
async function comparePlans(one, other) {
  const found = await answered("Compare", "compare", { one, other });
  if (found) (found.rows ? showDifference : showAnswer)("Two plans", found, () => comparePlans(one, other));
}
if (isReport) {
  $("trying").hidden = true;
  $("kind").querySelector("[value=fix]").remove();
  $("question").placeholder = "one or two names, or a query";
}
fillSnapshots();
