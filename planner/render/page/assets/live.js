// The served page: it follows the plan, and asks questions about it.
"use strict";
const isReport = data.live === "report"; // of a fleet or a stack, about which nothing can be asked
let version = data.version || 0; // of the plan on the page

async function request(route, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(route, options);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.json();
}
/** Show the state of planning: what is wrong, or what the last change of files has changed. */
function showState(state) {
  const isBroken = /^Error/m.test(state.problems);
  if (isBroken && state.problems !== $("problems").textContent) say(`The plan cannot be made. ${state.problems.match(/^Error.*/m)[0]}`);
  $("state").textContent = state.planning ? "Planning\u2026" : isBroken ? `The plan cannot be made.${version ? " The page shows the last good plan." : ""}` : `Live: planned ${state.at}.`;
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
  renew(await request("plan"));
  ({ version } = data);
  if (isReport) { document.querySelector(".below").outerHTML = data.below; return; }
  if (state.difference) {
    $("details").prepend(el("section", { id: "since", "aria-label": "Since the last plan" }, el("h2", {}, "Since the last plan"), ...differenceParts(state.difference, "The plan is unchanged.")));
    say(`The plan is new: ${several(state.difference.rows.length, "difference")}.`);
  }
  fillVariables();
};
events.onerror = () => { $("state").textContent = "planner does not answer: it may have been ended."; };

/** Show another document, with what is folded, chosen and in view as it was. */
function renew(document_) {
  const was = scene, eye = { ...drawing.eye }, folded = new Map(was.boxes.map((box, b) => [box.name, was.folded[b]]));
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
  group = null; start = null;
  drawing.show(scene);
  if (was.count && scene.where.size > 1 && Math.abs(scene.rect[0].w - was.rect[0].w) + Math.abs(scene.rect[0].h - was.rect[0].h) < 1) { drawing.eye = eye; drawing.redraw(true); }
  document.title = data.title;
  document.querySelector("h1").textContent = data.title;
  document.querySelector(".summary").replaceChildren(...data.summary.map(line => el("p", {}, line)));
  $("about").replaceChildren(...data.about.map(([word, text]) => el("div", {}, el("dt", {}, word), " ", el("dd", {}, text))));
  fillSide(); syncControls(); fillList(); showOverview(); follow();
}

// ---------------------------------------------------------------- questions

/** Two plans side by side: the actions and values of each object that differ, by cause. */
function differenceParts({ rows, counts, more }, none) {
  if (!rows.length) return [el("p", {}, none)];
  const causes = new Map(), words = action => action ? [swatch(action), action] : ["no change"];
  for (const row of rows) { if (causes.has(row[3])) causes.get(row[3]).push(row); else causes.set(row[3], [row]); }
  const item = ([address, one, other, , values], short) => el("li", {}, changeButton(address, short),
    one === other ? null : el("div", {}, ...words(one), " \u2192 ", ...words(other)),
    one === other && !values.length ? el("div", { class: "why" }, "other values, known after apply") : null,
    ...values.map(([what, was, is]) => el("div", { class: "why" }, `${what.replace(`${address}.`, "").replace(address, "value")}: ` +
      (was === is ? `another value${was.startsWith("(") ? ` ${was}` : ""}` : `${was || "known after apply"} \u2192 ${is || "known after apply"}`))));
  return [el("p", {}, counts[0] === counts[1] ? counts[0] : `${counts[0]} \u2192 ${counts[1]}`),
    ...[...causes].flatMap(([cause, those]) => [el("h3", {}, cause || "Other differences"), some(el("ul", { class: "plain" }), those, item, 20, row => row[0])]),
    more ? el("p", {}, `${more} more objects differ.`) : null];
}
function showDifference(title, answer) {
  details(el("h2", {}, title), el("p", { class: "why" }, `${answer.one} \u2192 ${answer.other}`), ...differenceParts(answer, "The two plans do not differ."));
  say(`${title}: ${several(answer.rows.length, "difference")}.`);
  $("details").focus();
}
function showAnswer(title, { text, problems }) {
  details(el("h2", {}, title), text ? el("pre", { class: "answer" }, text) : null, problems ? el("pre", { class: "problem" }, problems) : null,
    text || problems ? null : el("p", {}, "No answer."));
  say(`${title} ${(text || problems).split("\n")[0]}`);
  $("details").focus();
}
async function answered(title, route, body) {
  say("The answer is on its way.");
  try { return await request(route, body); } catch (problem) { showAnswer(title, { text: "", problems: String(problem.message) }); return null; }
}
const KINDS_OF = { why: "Why", "why-not": "Why not", fix: "How to avoid it", query: "Query" };
async function question(kind, text, words) {
  const title = `${KINDS_OF[kind]}: ${text || "all changes"}`, answer = await answered(title, "question", { kind, text, ...(words ? { words } : {}) });
  if (answer) showAnswer(title, answer);
}
$("ask").addEventListener("click", () => question($("kind").value, $("question").value));
$("question").addEventListener("keydown", event => { if (event.key === "Enter") question($("kind").value, $("question").value); });
extras.push(node => {
  const [change] = scene.changes(node), subject = change ? change[0] : null;
  if (!subject || isReport) return [];
  return [el("p", {}, button("Why", () => question("why", subject, [subject])), " ",
    change[1] === "no-op" ? null : button("How to avoid it", () => question("fix", subject, [subject])))];
});

/** A control for each variable, by its type. */
async function fillVariables() {
  if (!$("trying").open) return;
  const answer = await request("variables");
  const control = ({ name, type, value, sensitive }) => {
    const id = `var-${name}`, choices = type === "bool" ? ["", "true", "false"] : null;
    const input = choices ? el("select", { id, "data-name": name }, ...choices.map(choice => el("option", { value: choice }, choice || `as it is (${value || "null"})`)))
      : el("input", { id, type: "text", class: sensitive ? "secret" : "", "data-name": name, placeholder: sensitive ? "(sensitive value)" : value, autocomplete: "off", spellcheck: "false" });
    return el("p", {}, el("label", { for: id }, `${name} `, el("span", { class: "why" }, type)), input);
  };
  $("variables").replaceChildren(...(answer.variables || []).map(control), (answer.variables || []).length ? "" : el("p", {}, "The root module has no variables."));
}
$("trying").addEventListener("toggle", fillVariables);
$("try").addEventListener("click", async () => {
  const given = [...$("variables").querySelectorAll("[data-name]")].filter(input => input.value !== "");
  const title = `What if ${given.map(input => `${input.dataset.name} = ${input.className ? "(sensitive value)" : input.value}`).join(", ")}`;
  const answer = await answered(title, "what-if", { variables: Object.fromEntries(given.map(input => [input.dataset.name, input.value])) });
  if (answer) (answer.rows ? showDifference : showAnswer)(title, answer);
});

// ---------------------------------------------------------------- snapshots

async function fillSnapshots(answer) {
  const { snapshots } = answer || await request("snapshots"), options = () => [...snapshots, [0, "The present plan"]].map(([number, name]) => el("option", { value: number }, name));
  $("one").replaceChildren(...options()); $("other").replaceChildren(...options());
  $("other").value = 0;
  $("comparing").hidden = !snapshots.length;
}
/** Change the snapshots on the server. Returns whether that succeeded. */
async function changed(route, body) {
  const answer = await answered("Snapshots", route, body);
  if (answer && answer.problems) showAnswer("Snapshots", answer);
  if (!answer || answer.problems) return false;
  await fillSnapshots(answer);
  return true;
}
$("keep").addEventListener("click", async () => {
  if (await changed("keep", { name: $("naming").value })) say("The plan is kept.");
  $("naming").value = "";
});
$("drop").addEventListener("click", async () => { if (await changed("drop", { number: +$("one").value })) say("The snapshot is removed."); });
$("compare").addEventListener("click", async () => {
  const answer = await answered("Compare", "compare", { one: +$("one").value, other: +$("other").value });
  if (!answer) return;
  if (!answer.rows) { showAnswer("Compare", answer); return; }
  showDifference("Two plans", answer);
});
if (isReport) { for (const id of ["asking", "trying", "keeping"]) $(id).hidden = true; } else fillSnapshots();
