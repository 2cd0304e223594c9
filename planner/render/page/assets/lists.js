// The pane on the left, and what stands above the drawing: the search, the list of changes, and the legend.
"use strict";
const CALM = [["Resources", /resource|instance|deposed|orphan|data/], ["Modules", /^module_(expand|close)$/], ["Outputs", /output/], ["Variables and local values", /variable|local/],
  ["Providers", /provider/], ["Others", /./]];
const HIDDEN_ID = / deposed [0-9a-f]+/; // identifiers that nobody seeks
const words = () => $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
const isSought = () => words().length > 0;

/** The nodes whose names have all words of the search; all that are listed if there are none. */
function matching() {
  const sought = words(), nodes = [], withCause = new Set(sought.length ? nodesOfCauses(found => found.number && isHitCause(found)) : []);
  for (let n = 0; n < scene.count; n++) {
    if (!sought.length && (scene.isEnd(n) || scene.onlyChanged && !scene.action[n])) continue;
    const isHit = name => sought.every(word => name.toLowerCase().includes(word));
    if (withCause.has(n) || isHit(scene.name(n).replace(HIDDEN_ID, "")) || noun === "node" && scene.changes(n).some(change => isHit(soughtIn(change)))) nodes.push(n);
  }
  return nodes;
}
/** The objects of nodes, each once: changes, and names of nodes without changes with one of their nodes. */
function objectsOf(nodes) {
  const sought = words(), changes = new Set(), calm = new Map();
  for (const n of nodes) {
    const isHit = change => sought.every(word => soughtIn(change).toLowerCase().includes(word)), own = scene.action[n] ? scene.changes(n).filter(change => signOf.has(change[1])) : [], hits = own.filter(isHit);
    const still = sought.length && scene.action[n] && !hits.length && scene.changes(n).some(change => !signOf.has(change[1]) && isHit(change)); // only instances that do not change
    for (const change of hits.length ? hits : still ? [] : own) changes.add(change);
    if ((still || !scene.action[n]) && !calm.has(scene.shown(n))) calm.set(scene.shown(n), n);
  }
  for (const [address] of changes) { calm.delete(address); calm.delete(address.replace(INSTANCE_KEYS, "")); }
  return { changes: [...changes], calm: [...calm.values()], names: new Set([...[...changes].map(([address]) => address), ...calm.keys()]) };
}
/** The other views with hits that this one does not have: [number, title, [name, node] of each]. */
function elsewhere(nodes) {
  const sought = words(), here = new Set(nodes.map(n => scene.shown(n)));
  return data.views.map((view, number) => {
    if (!sought.length || view === scene.view) return [number, view.title, []];
    const names = new Map();
    view.nodes.name.forEach((at, n) => {
      const name = data.strings[at], shown = noun === "node" ? name.replace(STEP, "") : name;
      if (!names.has(shown) && sought.every(word => name.replace(HIDDEN_ID, "").toLowerCase().includes(word))) names.set(shown, n);
      for (const number of noun === "node" ? view.nodes.changes[n] || [] : []) { // instances that do not change have no nodes of their own
        const [address, action] = data.changes[number];
        if (action === "no-op" && !names.has(address) && sought.every(word => soughtIn(data.changes[number]).toLowerCase().includes(word))) names.set(address, n);
      }
    });
    return [number, view.title, [...names].filter(([name]) => !here.has(name)).sort(([a], [b]) => NUMERIC.compare(a, b))];
  }).filter(([, , hits]) => hits.length);
}
/** Choose a node of another graph. Escape, or the button of the notice, leads back. */
function chooseIn(number, node) {
  const sought = $("search").value, from = { view: scene.view, folded: scene.folded.slice(), eye: drawing.eye }, was = rest;
  rest = null; // of the other graph
  chooseView(number, false);
  $("search").value = sought;
  searchNames();
  choose(meant(node));
  showBanner(`This is in the graph \u201c${scene.view.title}\u201d.`, `Back to \u201c${from.view.title}\u201d`, () => {
    if (location.hash) history.pushState({ from: current }, "", location.pathname + location.search);
    chooseView(data.views.indexOf(from.view), false);
    scene.folded.set(from.folded);
    scene.arrange();
    drawing.eye = from.eye;
    $("search").value = sought;
    rest = was;
    searchNames(); showOverview(); syncControls();
  });
  left = from.view;
}
let rest = null; // the graph while nothing is chosen or sought: what is folded, and what is in view
/** Remember the graph before something is chosen or sought. */
function remember() {
  if (rest !== null) return;
  rest = { view: scene.view, folded: scene.folded.slice(), eye: drawing.eye };
  drawing.isMoved = false;
}
/** What is folded while nothing is chosen. */
const foldedAtRest = () => rest?.view === scene.view ? rest.folded : null;
/** Keep what was folded or unfolded by hand. */
function keepFolding(b) {
  const folded = foldedAtRest();
  if (!folded) return;
  folded[b] = scene.folded[b];
  for (let outer = scene.boxes[b].parent; outer > 0; outer = scene.boxes[outer].parent) folded[outer] = 0;
  rest.eye = null;
}
/** Show the graph again as it was before something was chosen or sought; what was in view only if that was not changed by hand since. */
function restore() {
  if (rest === null) return;
  const { view, folded, eye } = rest;
  rest = null;
  if (scene.view !== view) chooseView(data.views.indexOf(view), false);
  const isNew = still(drawing.chosen ?? -1, () => scene.reveal([], folded));
  if (eye && (isNew || !drawing.isMoved)) drawing.eye = eye;
  syncControls();
}
/** The module of a node that begins or ends it; the node itself otherwise. */
function meant(node) {
  const b = /^module_(expand|close)$/.test(scene.kind(node)) ? scene.boxes.findIndex(box => box.name === scene.shown(node)) : -1;
  return b > 0 ? -1 - b : node;
}
/** Whether the title of a cause, or the places of its values, have all words of the search. */
function isHitCause({ title, causes }) {
  const text = [title, ...partsOf(causes).flatMap(([name, , , where]) => [name, where])].join(" ").toLowerCase();
  return words().every(word => text.includes(word));
}
/** The title of a module in the list: its objects, and apart from them what the signs beside it do not count. */
function moduleTitle(module, own) {
  const outputs = own.filter(isOutput).length, moved = own.filter(change => !signOf.has(change[1])).length;
  return `${module || "root module"} (${[...(own.length > outputs + moved ? [own.length - outputs - moved] : []), ...(moved ? [`${moved} moved`] : []), ...(outputs ? [several(outputs, "output")] : [])].join(", ")})`;
}
let enteredFor = null; // the search whose hit was opened last, by Enter
let listsModules = false; // whether the list is by module, not by action
/** The outermost module of a name, with its key; "" for the root module. */
const outerModule = name => /^module\.[^.[\s]+(?:\[(?:"(?:\\.|[^"\\])*"|[^\]])*\])?(?=\.)/.exec(name)?.[0] || "";
let listedFor = JSON.stringify([[], null]); // the words of the search and the filter of the list
const FOUND_CAUSES = "causes that a search finds";
const FOUND_OUTPUTS = "outputs that a search finds"; // their group: folded where they are many
/** The number of hits; that of many outputs apart. */
function countHits(names) {
  const outputs = names.filter(name => OUTPUT.test(name.replace(MODULE, ""))).length, others = names.length - outputs;
  return outputs < INSTANCES ? several(names.length, "hit") : others ? `${several(others, "hit")}, ${several(outputs, "output")}` : several(outputs, "output");
}
/** The list: changes by action, the most dangerous first, then outputs, then what does not change by kind. */
function fillList() {
  const filter = JSON.stringify([words(), actionFilter]);
  if (filter !== listedFor) { listedFor = filter; $("side").scrollTop = 0; } // another list
  document.body.classList.toggle("sought", isSought());
  const nodes = matching(), sought = isSought(), further = elsewhere(nodes);
  const { changes, calm } = !sought && actionFilter !== null ? { changes: data.changes.filter(isOfFilter), calm: [] } : sought || noun !== "node" ? objectsOf(nodes) : { changes: data.changes.filter(change => signOf.has(change[1]) || formerOf(change)), calm: scene.onlyChanged ? [] : objectsOf(nodes).calm };
  const title = noun === "node" ? (sought ? countHits([...changes.map(([address]) => address), ...calm.map(n => scene.shown(n)), ...further.flatMap(([, , names]) => names.map(([name]) => name)), ...[...causeKinds().values()].filter(found => found.number && isHitCause(found)).map(found => found.title)]) : changes.length ? "Planned changes" : "Configuration") : `${noun[0].toUpperCase()}${noun.slice(1)}s (${changes.length + calm.length})`;
  const isGrouped = listsModules && !sought && changes.length > 0 && noun === "node", hasModules = new Set(changes.map(([address]) => outerModule(address))).size > 1;
  $("listtitle").replaceChildren(title, actionFilter !== null && !sought ? button("Show all", () => chooseAction(actionFilter), { class: "small" }) : "");
  const byName = (a, b) => NUMERIC.compare(a[0], b[0]);
  const ofModules = () => [...byKey(changes, ([address]) => outerModule(address))].sort(([a], [b]) => NUMERIC.compare(a, b)).map(([module, own]) => [`module ${module}`, moduleTitle(module, own), own.sort((a, b) => rank(a[1]) - rank(b[1]) || byName(a, b)), changeItem]);
  const groups = isGrouped ? ofModules() : byRisk().map(([action]) => [action, `${named(action)} (${changes.filter(change => change[1] === action && !isOutput(change)).length})`, changes.filter(change => change[1] === action && !isOutput(change)).sort(byName), changeLine]);
  const calmItem = ([name, n], short = name) => el("li", {}, button(short, () => choose(meant(n)), { class: "name", "aria-label": [name, meant(n) === n ? scene.part(n) : ""].filter(text => text).join(", ") }));
  const isCalmOutput = n => noun === "node" && CALM.find(([, kinds]) => kinds.test(scene.kind(n)))[0] === "Outputs";
  const calmOutputs = calm.filter(isCalmOutput).map(n => [scene.shown(n), n]), outputs = [...changes.filter(isOutput), ...(sought ? calmOutputs : [])].sort(byName);
  const outputGroup = [sought ? FOUND_OUTPUTS : "outputs", `Outputs (${outputs.length})`, outputs, (one, short = one[0]) => typeof one[1] === "number" ? calmItem(one, short) : changeItem(one, short)];
  const onlyMoved = changes.filter(change => !signOf.has(change[1]) && formerOf(change));
  if (!isGrouped) groups.push(["moved", `moved, otherwise unchanged (${onlyMoved.length})`, onlyMoved.sort(byName), changeLine]);
  if (!sought && !isGrouped) groups.push(outputGroup);
  const roots = sought ? calm.filter(n => causesAt(n).length) : []; // values that changed
  const hits = sought ? [...causeKinds()].filter(([, found]) => found.number && isHitCause(found)) : [];
  const kinds = byKey(calm.filter(n => !isCalmOutput(n) && !roots.includes(n)), n => noun === "node" ? CALM.find(([, kinds]) => kinds.test(scene.kind(n)))[0] : "Others");
  for (const [kind] of CALM) {
    if (kind === "Outputs") groups.push(sought ? outputGroup : [kind, `${outputs.length ? "Other outputs" : kind} (${calmOutputs.length})`, calmOutputs.sort(byName), calmItem]);
    const own = kinds.get(kind);
    if (own) groups.push([kind, `${kind} (${own.length})`, own.map(n => [scene.shown(n), n]).sort(byName), calmItem]);
  }
  if (roots.length) groups.push(["causes", `Changed values (${roots.length})`, roots.map(n => [scene.shown(n), n]).sort(byName), ([name, n], short = name) => el("li", {}, ...causesAt(n).map(([, found]) => numberSign(found)), " ", button(short, () => choose(n), { class: "name", "aria-label": name }))]);
  if (hits.length) groups.push([FOUND_CAUSES, `Causes (${hits.length})`, hits.map(([kind, found]) => [found.title, kind, found]), ([title, kind, found]) => el("li", {}, numberSign(found), " ", button(arrows(title), () => chooseGroup(found.causes.size === 1 ? title : kind), { class: "name", "aria-label": title }))]);
  const was = new Map([...$("list").querySelectorAll("details[data-group]")].map(one => [one.dataset.group, one.open]));
  const isOpen = key => key === FOUND_OUTPUTS ? was.get(key) ?? outputs.length < INSTANCES : sought || (was.get(key) ?? (wordsOf.has(key) || key === "outputs" || key === "moved" || !data.changes.length || isGrouped && groups.length <= INSTANCES));
  const others = further.map(([number, other, names]) => el("details", { "data-group": other, ...(isOpen(other) ? { open: "" } : {}) },
    el("summary", {}, `In \u201c${other}\u201d (${names.length})`), some(el("ul", { class: "plain" }), names, ([name, n], short = name) => el("li", {}, button(short, () => { asked = name; chooseIn(number, n); asked = null; }, { class: "name", "aria-label": name })), FIRST, one => one[0])));
  const isNone = sought && !changes.length && !calm.length && !hits.length;
  $("list").replaceChildren(
    ...(hasModules && !sought ? [el("p", {}, button(listsModules ? "By action" : "By module", () => { listsModules = !listsModules; fillList(); $("listorder").focus(); }, { class: "small", id: "listorder" }))] : []),
    ...(isNone ? [el("p", {}, others.length ? `\u201c${scene.view.title}\u201d has no name that contains \u201c${$("search").value.trim()}\u201d.` : `No name contains \u201c${$("search").value.trim()}\u201d.`)] : []),
    ...groups.filter(([, , own]) => own.length).map(([key, text, own, item]) => el("details", { "data-group": key, ...(isOpen(key) ? { open: "" } : {}) },
      el("summary", {}, wordsOf.has(key) ? swatch(colourOf.get(key)) : "", text, ...(isGrouped && key.startsWith("module ") ? [" ", ...signsOfChanges(own)] : [])), some(el("ul", { class: "plain" }), own, item, FIRST, key === FOUND_CAUSES ? null : one => one[0]))),
    ...others);
  return nodes;
}
/** Mark the object in the list whose details are shown. */
function showCurrent(name) {
  for (const one of $("list").querySelectorAll(".name")) if (name !== null && one.getAttribute("aria-label") === name) one.setAttribute("aria-current", "true"); else one.removeAttribute("aria-current");
}
const changeLine = (change, short = change[0]) => el("li", {}, changeButton(change[0], short), dataMark(change), movedMark(change));

// ---------------------------------------------------------------- the numbers at the top

/** What is done, by its name: [key, actions, number of changes]; outputs of a plan apart. */
function chips() {
  const plain = ([, , , name]) => name.replace(/ \(.*/, ""), alike = byKey(byRisk(), plain);
  const found = [...alike].map(([key, those]) => [key, those, data.changes.filter(change => !isOutput(change) && those.some(([action]) => action === change[1])).length]);
  const outputs = data.changes.filter(change => isOutput(change) && signOf.has(change[1])).length, moved = Object.keys(data.moved || {}).length;
  return [...found, ["moved", [], moved], ...(outputs ? [["outputs", [], outputs]] : [])].filter(([, , number]) => number);
}
const IN_FILE = "causes in "; // a filter by the file of the causes
const isOfFilter = change => actionFilter?.startsWith(IN_FILE) ? change[3].some(cause => fileOf(causeKinds().get(kindOfCause(cause))?.title || "") === actionFilter.slice(IN_FILE.length)) : actionFilter === "moved" ? formerOf(change) !== "" : actionFilter === "outputs" ? isOutput(change) && signOf.has(change[1]) : !isOutput(change) && (wordsOf.get(change[1]) || "").replace(/ \(.*/, "") === actionFilter;
function fillSummary() {
  const [first, ...others] = data.summary, own = chips(), isPlan = noun === "node" && own.length, lead = isPlan ? /^.*?:/.exec(first)?.[0] : null;
  const chip_ = ([key, those, number]) => {
    const made = button("", () => chooseAction(key), { class: "sumchip", "data-action": key, "aria-pressed": "false", title: "List only these, and mark them in the graph" });
    made.append(those.length ? el("b", {}, those.map(([, , sign]) => sign).join(" or ")) : "", ` ${key === "moved" ? `${number} moved` : !those.length ? several(number, "output") : isPlan ? `${number} to ${key}` : noun === "node" ? `${key} ${number}` : `${key}: ${several(number, noun)}`}`);
    if (those.length) made.style.background = fillOf(those[0][1]);
    return made;
  };
  document.querySelector(".summary").replaceChildren(...(lead ? [el("p", {}, lead)] : data.summary.slice(0, 1).map(line => el("p", {}, line))),
    ...(own.length ? [el("span", { id: "chips", role: "group", "aria-label": "Filter" }, ...own.map(chip_))] : []), ...others.map(line => el("p", {}, line)));
}
function syncChips() { for (const one of document.querySelectorAll("#chips button")) one.setAttribute("aria-pressed", String(one.dataset.action === actionFilter)); }
/** Whether a cause belongs to the filter: it is in the file, or changes what is listed. */
const isOfFilterCause = found => actionFilter?.startsWith(IN_FILE) ? fileOf(found.title) === actionFilter.slice(IN_FILE.length) : [...found.changes].some(change => isOfFilter(change) && !found.beside.has(change));
/** List and mark what is done in one way; of the chosen one, everything again. */
function chooseAction(key) {
  if (actionFilter === key) { clearMarks(); return; }
  group = null; actionFilter = key;
  $("search").value = "";
  const changes = data.changes.filter(isOfFilter), nodes = [];
  for (let n = 0; n < scene.count; n++) if (scene.changes(n).some(isOfFilter)) nodes.push(n);
  const causes = nodesOfCauses(isOfFilterCause);
  const outside = nodes.length ? presentAll(nodes, () => ({ ...marks([...nodes, ...causes], new Set(), new Set(changes.map(([address]) => address))), causes: causes.filter(cause => !scene.hidden[cause]) })) : "";
  showOverview(); fillList(); syncChips(); showCurrent(null);
  const elsewhereIs = changes.length - new Set(nodes.flatMap(n => scene.changes(n)).filter(isOfFilter)).size;
  say(`${key}: ${countOf(changes)}${outside}.${elsewhereIs ? ` ${elsewhereIs < changes.length ? elsewhereIs : changes.length > 1 ? "All of them" : "It"} ${elsewhereIs > 1 ? "are" : "is"} only in the list, not in this graph.` : ""}`);
  note({ action: key }, key);
}

function fillSide() {
  implied.checked = scene.implied;
  implied.disabled = scene.view.is_reduced; // it does not have them
  $("layers").replaceChildren(
    ...data.layers.map(([name, meant], n) => layerBox(name, meant, n)),
    el("label", {}, implied, " implied by others", el("span", { class: "why" }, ": an order that follows from other arrows")),
    el("p", { class: "why" }, `The graph: ${several(scene.count, noun)}, ${several(scene.edgeCount, "edge")}.`));
  $("views").hidden = data.views.length < 2;
  $("view").replaceChildren(...data.views.map((view, n) => el("option", { value: n }, view.title)));
  $("view").value = data.views.indexOf(scene.view);
}
const LINE_WORDS = { reference: "reads", order: "only order", destroy: "order of destruction" };
/** The kinds of lines. */
function linesOfLegend() {
  const bits = [...scene.lines.filter(e => !scene.isEffect(e)), ...scene.chosenEdges || []].reduce((all, e) => all | (scene.readLines.has(e) ? REFERENCE : scene.layers[e] & -scene.layers[e]), 0), drawn = data.layers.filter((_, n) => bits >> n & 1);
  return drawn.length > 1 || noun === "node" ? drawn.map(([name, meant]) => el("li", { title: meant, class: "kind" }, stroke(name), LINE_WORDS[name] || name)) : [];
}
/** Name the kinds of the lines that are drawn now, as a path may have others. */
function syncLines() {
  const [first, ...others] = $("legend").querySelectorAll(".kind");
  for (const one of others) one.remove();
  first?.replaceWith(...linesOfLegend());
}
/** The colours and lines that are drawn, and nothing else. */
function fillLegend() {
  let hasOld = false, hasCalm = false, hasValue = false, hasCause = false, hasEffect = false;
  const isValue = n => noun === "node" && (/^(root_variable|module_variable|local)$/.test(scene.kind(n)) || scene.isOutput(n) && moduleOf(scene.shown(n)) !== ""); // whether it changes is not known
  for (let n = 0; n < scene.count; n++) if (!scene.hidden[n]) { hasOld ||= scene.isOld(n); hasCalm ||= !scene.action[n] && !scene.causing.has(n) && !isValue(n); hasValue ||= !scene.action[n] && !scene.causing.has(n) && isValue(n); hasCause ||= scene.causing.has(n); hasEffect ||= scene.action[n] && scene.effectOf(n).length > 0; }
  const old = swatch("replace");
  old.classList.add("old");
  const drawn = new Set();
  for (let n = 0; n < scene.count; n++) if (!scene.hidden[n]) for (const [, action] of scene.changes(n)) drawn.add(action);
  const plain = ([, , , name]) => name.replace(/ \(.*/, ""), alike = byKey(byRisk().filter(([action]) => drawn.has(action)), action => `${action[1]} ${plain(action)}`);
  $("legend").replaceChildren(...[...alike.values()].map(those => el("li", {}, swatch(those[0][1]), `${those.map(([, , sign]) => sign).join(" or ")} ${plain(those[0])}`.trim())),
    hasOld ? el("li", {}, old, "- old object") : "", hasCalm || hasValue ? el("li", {}, swatch("none"), !hasValue ? "no change" : hasCalm ? "no change, or a value" : "a value") : "",
    hasCause ? el("li", {}, el("span", { class: "number", "aria-hidden": "true" }, "1"), " cause") : "",
    hasEffect ? el("li", {}, el("span", { class: "number of", "aria-hidden": "true" }, "1"), " effect of cause 1") : "",
    el("li", {}, el("span", { class: "swatch chosen", "aria-hidden": "true" }), "selected"),
    scene.lines.length ? el("li", {}, "\u2192 first to last") : "",
    ...linesOfLegend(),
    scene.lines.some(e => scene.isEffect(e)) ? el("li", {}, el("span", { class: "stroke effect", "aria-hidden": "true" }), "reads a cause") : "",
    scene.mutual.size ? el("li", {}, "\u2194 wait for each other") : "",
    scene.lines.length <= 400 && scene.lines.some(e => scene.hiddenBetween(e)) ? el("li", {}, el("span", { class: "number between", "aria-hidden": "true" }, "+1"), " through hidden objects") : "",
    hasCause ? el("li", { class: "link" }, el("span", { class: "stroke link", "aria-hidden": "true" }), "effect of a cause") : "");
}
const implied = el("input", { type: "checkbox", onchange: () => { scene.implied = implied.checked; scene.connect(); drawing.redraw(); if (drawing.chosen === null && !drawing.marked) showOverview(); } });
function layerBox(name, meant, n) {
  const box = el("input", { type: "checkbox", "data-layer": name, onchange: () => {
    scene.visible ^= 1 << n;
    if (name === "module") { scene.settled = null; still(drawing.chosen ?? -1, () => scene.arrange()); } else scene.connect(); // it decides which ways are found
    drawing.redraw();
    say(`Arrows of the kind \u201c${LINE_WORDS[name] || name}\u201d are ${box.checked ? "shown" : "hidden"}.`);
  } });
  box.checked = scene.visible >> n & 1;
  return el("label", {}, box, " ", stroke(name), LINE_WORDS[name] || name, el("span", { class: "why" }, `: ${meant}`));
}
function syncControls() {
  $("changed").checked = scene.onlyChanged;
  $("changed").disabled = !scene.boxes.length || !scene.boxes[0].changed;
  const hasBoxes = scene.boxes.length > 1;
  $("fold").hidden = $("unfold").hidden = !hasBoxes;
  fillLegend();
  syncCauses();
}

function searchNames() {
  document.body.classList.remove("chosen"); // a narrow window shows the list again
  if (isSought()) remember();
  else if (drawing.chosen === null && group === null) restore();
  const nodes = fillList(), { names } = objectsOf(nodes);
  if (!isSought() && group !== null) { const name = group; group = null; chooseGroup(name); return; } // its marks again
  drawing.marked = isSought() ? marks(nodes, new Set(), names) : null;
  const drawn = nodes.filter(node => !scene.hidden[node]).map(node => scene.area(scene.stands[node]));
  if (isSought() && drawn.length && !drawn.some(area => drawing.sees(area))) drawing.bring(drawn[0]); else drawing.redraw();
  say(!isSought() ? "" : noun === "node" ? `${$("listtitle").textContent}.` : `${several(names.size, noun)} found.`);
}
$("search").addEventListener("input", searchNames);
/** Empty the search, and take its marks away. What was chosen since stays. */
function clearSearch() {
  if (drawing.marked?.isCounted && group === null) drawing.marked = null;
  $("search").value = "";
  if (drawing.chosen === null && group === null) restore();
  fillList();
  say("");
  drawing.redraw();
}
$("search").addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  const listed = [...$("list").querySelectorAll(".name:not(.module > .name), details.alike > summary")], name = $("search").value.trim(), isExact = one => one.getAttribute("aria-label") === name;
  const current = listed.findIndex(one => one.hasAttribute("aria-current")), entry = (enteredFor === $("search").value && current >= 0 ? listed[(current + 1) % listed.length] : null) || listed.find(isExact) || listed.find(one => /^(replace|delete|forget|update|create|causes)/.test(one.closest("[data-group]")?.dataset.group || "")) || listed[0], alike = entry?.closest("details.alike"), hits = isSought() ? matching() : [], [first] = hits;
  enteredFor = $("search").value;
  const other = start !== null && !hits.some(node => scene.shown(node) === name) ? elsewhere(hits).find(([, , names]) => !hits.length || names.some(([one]) => one === name)) : null;
  if (other) { pathIn(other[0], (other[2].find(([one]) => one === name) || other[2][0])[1]); return; }
  if (start !== null && hits.length) { // the other end of a path: the hit with this name, or that is nearest to its beginning
    const exact = hits.find(node => node !== start && scene.shown(node) === $("search").value.trim());
    if (exact !== undefined) { choose(exact); return; }
    const name = scene.shown(start), inCommon = node => { const other = scene.shown(node); let at = 0; while (at < name.length && name[at] === other[at]) at++; return at; };
    choose(hits.filter(node => node !== start).sort((a, b) => inCommon(b) - inCommon(a))[0] ?? first);
  } else if (alike && !alike.open) { // alike things: the first of them
    alike.addEventListener("toggle", () => alike.querySelector(".name")?.click(), { once: true });
    alike.open = true;
  } else if (entry) entry.click(); else if (first !== undefined) choose(first); else $("list").querySelector("button")?.click(); // the rows of alike things may be closed, or be in the other graph
});
