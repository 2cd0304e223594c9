// Everything around the drawing: search, lists, details, and the keys. Texts are only ever set as text.
"use strict";
const $ = id => document.getElementById(id);
const FIRST = 50;
const OPENED = 12; // the number of nodes of a cause up to which the boxes around them are opened
const { noun } = data;
let scene = new Scene(data.views[0]);
const scenes = new Map([[0, scene]]);
const drawing = new Drawing(scene);
let group = null, start = null;

/** An element with properties and children; children are elements or text. */
function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  made.append(...children.filter(child => child !== null));
  return made;
}
const button = (text, onclick, properties = {}) => el("button", { type: "button", onclick, ...properties }, text);
const say = text => { $("said").textContent = text; };
const several = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

function swatch(colour) {
  const made = el("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = `var(--${colour})`;
  return made;
}
function stroke(layer) {
  const made = el("span", { class: "stroke", "aria-hidden": "true" });
  made.style.color = `var(--${layer})`;
  made.style.borderTopStyle = ["solid", "dashed", "dotted", "dashed", "dashed"][data.layers.findIndex(([name]) => name === layer)];
  return made;
}

// ---------------------------------------------------------------- choosing

const kindOf = node => scene.kind(node) === "instance_apply" ? "resource instance" : scene.kind(node).replaceAll("_", " ");
const boxNoun = box => box.name.startsWith("module.") && !box.isGroup ? "module" : "group";
const nameOfBox = box => box.name.startsWith("modules, ") ? box.label : box.name;
/** What a screen reader is told about a thing. */
function spoken(thing) {
  if (thing < 0) {
    const b = -1 - thing, box = scene.boxes[b];
    const changed = box.distinct.size ? `, ${several(box.distinct.size, "change")}` : "";
    return `${nameOfBox(box)}, ${boxNoun(box)} with ${several(box.size, noun)}${changed}, ${scene.folded[b] ? "folded" : "open"}`;
  }
  const action = scene.action[thing] ? `, ${wordsOf.get(scene.action[thing])}` : "";
  return `${scene.name(thing)}, ${kindOf(thing)}${action}; waits for ${scene.out[thing].length}, ` +
    `${scene.in[thing].length} ${scene.in[thing].length === 1 ? "waits" : "wait"} for it`;
}
function choose(thing, { look = true, mark = true } = {}) {
  if (scene.reveal(thing)) syncControls();
  drawing.chosen = thing;
  if (mark) drawing.marked = thing >= 0 ? around(thing) : null;
  if (look) drawing.look(thing); else drawing.redraw();
  note({ node: scene.title(thing) });
  say(spoken(thing));
  if (thing >= 0) showNode(thing); else showBox(-1 - thing);
}
/** A node with its edges, and those that are drawn for ways through hidden nodes. */
function around(node) {
  const edges = new Set([...scene.out[node], ...scene.in[node]]);
  for (const e of scene.ways.keys()) if (scene.from[e] === node || scene.to[e] === node) edges.add(e);
  return marks([node, ...[...edges].map(e => scene.from[e] === node ? scene.to[e] : scene.from[e])], edges);
}
function marks(nodes, edges) {
  const set = new Set(nodes), boxes = new Map(); // how many of them each box has
  for (const node of set) for (let b = scene.view.nodes.box[node]; b > 0; b = scene.boxes[b].parent) boxes.set(b, (boxes.get(b) || 0) + 1);
  return { nodes: set, boxes, edges };
}
function chooseEdge(edge) {
  if (scene.ways.has(edge)) { showPath(scene.from[edge], scene.to[edge]); return; }
  drawing.chosen = scene.stands[scene.from[edge]];
  drawing.marked = marks([scene.from[edge], scene.to[edge]], new Set([edge]));
  drawing.redraw();
  note({ node: scene.name(scene.from[edge]), to: scene.name(scene.to[edge]) });
  showEdge(edge);
  say(`${scene.name(scene.from[edge])} waits for ${scene.name(scene.to[edge])}`);
}
function toggle(b) {
  scene.folded[b] = !scene.folded[b];
  const before = scene.area(-1 - b).slice(0, 2);
  scene.arrange();
  const after = scene.area(-1 - b);
  drawing.eye.x += after[0] - before[0]; drawing.eye.y += after[1] - before[1];
  drawing.chosen = -1 - b;
  drawing.redraw(true);
  say(spoken(-1 - b));
  showBox(b);
}
function clearMarks() {
  drawing.chosen = null; drawing.marked = null; start = null; group = null;
  drawing.redraw();
  showOverview(); fillList(); syncControls();
  history.replaceState(null, "", location.pathname + location.search);
  say("Nothing is marked.");
}

// ---------------------------------------------------------------- details

function details(...children) {
  const panel = $("details"), wasInside = panel.contains(document.activeElement);
  panel.replaceChildren(...children.flat().filter(child => child));
  panel.scrollTop = 0;
  if (wasInside) panel.focus(); // what had the focus is gone
}
const MODULE = /^(?:module\.[^.[]+(?:\[(?:"(?:\\.|[^"\\])*"|[^\]])*\])?\.)+/;
const ALIKE = 4; // modules from which on what has the same name in each is one item
const INSTANCES = 12; // instances of a resource from which on they are one item
const KEY = /\[(?:"(?:\\.|[^"\\])*"|\d+)\]( \(\w+\))?$/; // at the end of the name of an instance
const moduleOf = name => MODULE.exec(name)?.[0] || "";
function byKey(all, keyOf) {
  const found = new Map();
  for (const one of all) { const key = keyOf(one); if (found.has(key)) found.get(key).push(one); else found.set(key, [one]); }
  return found;
}
/** Items of a list by module, but one for what has the same name in many modules, and one for many instances of a resource:
 * [module or null, [thing...]]. */
function entries(all, nameOf) {
  const shared = [...byKey(all, one => nameOf(one).replace(MODULE, "")).values()].filter(found => found.length >= ALIKE), known = new Set(shared.flat());
  const instances = byKey(all.filter(one => !known.has(one)), one => nameOf(one).replace(KEY, "[]$1"));
  const own = [...instances.values()].flatMap(found => found.length < INSTANCES ? found.map(one => [one]) : [found]);
  return [...own.map(found => [moduleOf(nameOf(found[0])), found]).sort(([a], [b]) => NUMERIC.compare(a, b)), ...shared.map(found => [null, found])];
}
/** Lines for entries of a list: a module is written once above its things. `item` makes one of a name without its module. */
function byModule(those, nameOf, item) {
  let last = "";
  return those.map(([module, found]) => {
    const [one] = found, short = one => nameOf(one).replace(MODULE, "");
    if (module === null) return alikeItem(`${short(one)} in ${several(found.length, "module")}`, found, item, one => moduleOf(nameOf(one)).slice(0, -1) || "the root module");
    const line = found.length === 1 ? item(one, short(one)) : alikeItem(`${short(one).replace(KEY, "$1")}: ${several(found.length, "instance")}`, found, item, short);
    if (module !== last) line.prepend(el("div", { class: "module" }, module.slice(0, -1)));
    last = module;
    return line;
  });
}
/** An item for many alike things: their list is filled when it is unfolded. */
function alikeItem(title, found, item, labelOf) {
  const list = el("ul", { class: "plain" }), fill = () => { if (!list.firstChild) some(list, found, one => item(one, labelOf(one)), FIRST); };
  return el("li", {}, el("details", { class: "alike", ontoggle: fill }, el("summary", {}, title), list));
}
const nodeButton = node => button(scene.name(node), () => choose(node), { class: "name" });

function placeLines(places) {
  return places.map(([where, line]) => el("div", {}, el("code", {}, where), el("pre", {}, line)));
}
function reasonLines(edge) {
  return scene.reasons(edge).map(({ rule, reason, places }) =>
    el("div", { class: "why" }, reason, " ", el("code", {}, `[${rule}]`), ...placeLines(places)));
}
/** Fill a list with some of what there is, and a button for the rest. With `nameOf` by module. */
function some(list, all, item, first, nameOf = null) {
  const number = all.length, lines = those => nameOf ? byModule(those, nameOf, item) : those.map(item);
  if (nameOf) all = entries(all, nameOf);
  if (all.length <= first + 2) first = all.length; // a button for two lines saves nothing
  list.replaceChildren(...lines(all.slice(0, first)));
  if (all.length > first) list.append(el("li", {}, button(`Show all ${number}`, () => {
    const at = list.children.length - 1;
    list.replaceChildren(...lines(all));
    list.children[at].querySelector("button, summary").focus(); // where the button was
  })));
  return list;
}
/** The edges of a node with what is at their other end, some at first. */
function edgeList(title, pairs) {
  if (!pairs.length) return [];
  const item = ([edge, other]) => el("li", {}, nodeButton(other), " ",
    button("why", () => chooseEdge(edge), { "aria-label": `why the edge to ${scene.name(other)}` }));
  return [el("h3", {}, `${title} (${pairs.length})`), some(el("ul", { class: "plain" }), pairs, item, 30)];
}
function changeParts(node) {
  const numbers = (scene.view.nodes.changes[node] || []).slice(0, 50);
  return numbers.map(n => [n, data.changes[n]]).flatMap(([n, [address, action, , causes, lines]]) => [
    el("h3", {}, swatch(colourOf.get(action) || "none"), address === scene.name(node) ? "" : `${address}: `, wordsOf.get(action) || "no change"),
    ...causes.slice(0, 8).map(cause => el("p", { class: "why" }, "Cause: ", button(cause, () => chooseGroup(cause), { class: "name" }))),
    lines.length ? el("pre", {}, lines.join("\n")) : null,
    textOf(n),
    ...data.verdicts.filter(v => v[2] === address).map(verdictLine),
  ]);
}
const verdictLine = ([kind, code, address, message]) => el("p", {}, el("strong", { class: kind }, kind), ` ${code}: ${address} ${message}`);

const extras = []; // what others add to the details of a node
function showNode(node) {
  const place = scene.placeOf(node), facts = scene.view.nodes.facts[node] || [];
  details(
    el("h2", {}, scene.name(node)),
    el("p", { class: "why" }, kindOf(node)),
    ...facts.map(([word, value]) => el("p", {}, el("strong", {}, `${word}: `), value)),
    ...changeParts(node),
    ...extras.flatMap(extra => extra(node)),
    place ? el("h3", {}, "Declared") : null, ...(place ? placeLines([place]) : []),
    el("p", {},
      button("Blast radius", () => showBlast(node)), " ",
      button("Path from here", () => { start = node; say(`Path from ${scene.name(node)}: choose where it leads.`); showNode(node); },
        { "aria-pressed": String(start === node) }), " ",
      start !== null && start !== node ? button("Path to here", () => showPath(start, node)) : null),
    ...edgeList("Waits for", scene.out[node].map(e => [e, scene.to[e]])),
    ...edgeList("Waited for by", scene.in[node].map(e => [e, scene.from[e]])),
  );
}
/** What a change does, as a plan shows it; where there are very many, as soon as they are unpacked. */
function textOf(change) {
  const shown = el("pre", { hidden: "" });
  const fill = texts => { data.texts = texts; if (texts[change]) { shown.textContent = texts[change].replace(/^ {2}/gm, "").replace(/ +(=|->) /g, " $1 "); shown.hidden = false; } };
  if (typeof data.texts === "string") unpack(data.texts).then(fill); else fill(data.texts);
  return shown;
}
/** Texts that came compressed. */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
function showBox(b) {
  const box = scene.boxes[b];
  const inner = scene.contents(b).filter(thing => thing < 0 || scene.action[thing]).sort((one, other) => NUMERIC.compare(scene.title(one), scene.title(other)));
  const item = thing => el("li", {}, ...(thing >= 0 ? [swatch(colourOf.get(scene.action[thing])), nodeButton(thing)]
    : [button(scene.boxes[-1 - thing].label, () => choose(thing), { class: "name" }), ` ${scene.counts(-1 - thing).map(([, text]) => text).join("  ") || several(scene.boxes[-1 - thing].size, noun)}`]));
  details(el("h2", {}, nameOfBox(box)), el("p", {}, `A ${boxNoun(box)} with ${several(box.size, noun)}, ${several(box.distinct.size, "change")}.`),
    ...data.actions.filter(([action]) => box.tally.has(action)).map(([action, colour]) => el("p", {}, swatch(colour), `${named(action)}: ${box.tally.get(action)}`)),
    el("p", {}, button(scene.folded[b] ? "Unfold" : "Fold", () => toggle(b))),
    inner.length ? some(el("ul", { class: "plain" }), inner, item, 30) : null);
}
function showEdge(edge) {
  const from = scene.from[edge], to = scene.to[edge];
  details(el("h2", {}, "Edge"), el("p", {}, nodeButton(from), " waits for ", nodeButton(to)),
    el("p", { class: "why" }, scene.layerNames(edge).map(name => `${name}: ${meaning(name)}`).join(" ")),
    ...reasonLines(edge), proofCommand(from, to));
}
const meaning = name => data.layers.find(([layer]) => layer === name)[1];
function proofCommand(from, to) {
  if (!data.asks) return null;
  const word = text => /^[\w.\/:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  const kind = noun === "node" ? ` -type=${scene.view.name}` : "";
  return el("p", { class: "why" }, "The complete proof: ", el("code", {}, `${data.asks}${kind} ${word(scene.name(from))} ${word(scene.name(to))}`));
}
function showBlast(node) {
  const found = scene.blast(node), byDepth = [];
  for (const [other, depth] of found) (byDepth[depth] ||= []).push(other);
  const edges = new Set(scene.lines.filter(e => found.has(scene.to[e])));
  drawing.chosen = scene.stands[node]; drawing.marked = marks(found.keys(), edges);
  drawing.redraw();
  say(`A change of ${scene.name(node)} reaches ${several(found.size - 1, noun)}.`);
  const item = n => el("li", {}, nodeButton(n), scene.action[n] ? ` ${scene.action[n]}` : "");
  details(el("h2", {}, "Blast radius"), el("p", {}, nodeButton(node), ` reaches ${several(found.size - 1, noun)}.`),
    ...byDepth.slice(1).flatMap((nodes, at) => [el("h3", {}, `${several(at + 1, "step")} (${nodes.length})`), some(el("ul", { class: "plain" }), nodes.sort((a, b) => a - b), item, 20)]));
}
function showPath(from, to) {
  let edges = scene.path(from, to), note = "";
  if (!edges) {
    edges = scene.path(to, from);
    if (edges) { [from, to] = [to, from]; note = "The other way round: "; }
  }
  start = null;
  if (!edges) {
    say("There is no path between the two.");
    details(el("h2", {}, "Path"), el("p", {}, "Neither waits for the other: ", nodeButton(from), ", ", nodeButton(to), "."));
    return;
  }
  let was = false;
  for (const e of edges) was = scene.reveal(scene.from[e]) || scene.reveal(scene.to[e]) || was;
  drawing.marked = marks([from, ...edges.map(e => scene.to[e])], new Set(edges));
  drawing.chosen = from;
  drawing.redraw(was);
  say(`${note}${scene.name(from)} waits for ${scene.name(to)}, ${several(edges.length, "edge")}.`);
  details(el("h2", {}, "Path"), el("p", {}, note, nodeButton(from), " waits for ", nodeButton(to), `, ${several(edges.length, "edge")}:`),
    ...edges.flatMap(e => [el("h3", {}, nodeButton(scene.from[e]), " \u2192 ", nodeButton(scene.to[e])), ...reasonLines(e)]));
}
const OUTPUT = /^output\.[^.[]+$/;
/** The button of a changed object, if the graph has it. */
function changeButton(address, short = address) {
  const node = scene.nodeOf.get(address);
  return node === undefined ? document.createTextNode(short) : button(short, () => { if (scene.nodeOf.has(address)) choose(scene.nodeOf.get(address)); }, { class: "name", "aria-label": address });
}
/** What is going to be done: what is destroyed and replaced first, with causes. */
function showOverview() {
  const byAction = new Map(data.actions.map(([action]) => [action, []]));
  const outputs = noun === "node" ? data.changes.filter(change => change[1] !== "no-op" && OUTPUT.test(change[0])) : [];
  for (const change of data.changes) if (byAction.has(change[1]) && !outputs.includes(change)) byAction.get(change[1]).push(change);
  for (const found of byAction.values()) found.sort((a, b) => NUMERIC.compare(a[0], b[0]));
  const kinds = causeKinds(), titles = causes => [...new Set(causes.map(cause => kinds.get(kindOfCause(cause)).title))];
  const joined = causes => `${causes.slice(0, 2).join("; ")}${causes.length > 2 ? ` and ${causes.length - 2} more` : ""}`;
  const why = ([, , reason, causes]) => causes.length ? joined(titles(causes)) : reason;
  const line = text => text ? el("div", { class: "why" }, text) : null;
  const parts = [...byAction].filter(([, found]) => found.length).sort((a, b) => rank(a[0]) - rank(b[0])).flatMap(([action, found]) => {
    const item = (change, short) => el("li", {}, changeButton(change[0], short)), nameOf = change => change[0], most = rank(action) < RISKY.length ? 20 : 8;
    const byCause = new Map();
    for (const change of found) { const text = why(change); if (byCause.has(text)) byCause.get(text).push(change); else byCause.set(text, [change]); }
    return [el("h3", {}, swatch(colourOf.get(action)), `${named(action)} (${found.length})`),
      ...(byCause.size > 8 ? [some(el("ul", { class: "plain" }), found, item, most, nameOf)]
        : [...byCause].flatMap(([text, those]) => [line(text), some(el("ul", { class: "plain" }), those, item, most, nameOf)]))];
  });
  if (outputs.length) parts.push(el("h3", {}, `Outputs (${outputs.length})`), some(el("ul", { class: "plain" }),
    outputs, change => el("li", {}, swatch(colourOf.get(change[1]) || "none"), changeButton(change[0])), 5));
  details(el("h2", {}, parts.length && noun === "node" ? "What will be done" : scene.view.title), ...parts,
    parts.length || noun !== "node" || scene.view.name === "none" ? null : el("p", {}, "Nothing is going to be changed."),
    el("p", { class: "why" }, `The graph: ${several(scene.count, noun)}, ${several(scene.edgeCount, "edge")}. Select a ${noun} or an edge for details.`),
    scene.view.is_reduced ? el("p", { class: "why" }, "Edges that others imply are left out, as there are very many.") : null,
    scene.ways.size >= WAYS ? el("p", { class: "why" }, "Some edges through nodes that do not change are left out, as there are very many.") : null);
}

// ---------------------------------------------------------------- lists

const CALM = [["Resources", /resource|instance|deposed|orphan|data/], ["Outputs", /output/], ["Variables and local values", /variable|local/],
  ["Modules", /module/], ["Providers", /provider/], ["Others", /./]];
const isSought = () => $("search").value.trim() !== "" || group !== null;
function matching() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean), nodes = []; // names have all of them
  for (let n = 0; n < scene.count; n++) {
    if ($("changed").checked && !scene.action[n] && !words.length) continue;
    if (group !== null && !scene.changes(n).some(isOfGroup)) continue;
    const name = words.length ? scene.name(n).toLowerCase() : "";
    if (words.every(word => name.includes(word))) nodes.push(n);
  }
  return nodes;
}
/** The nodes by action, changed ones first, the others by kind. */
function fillList() {
  const nodes = matching(), order = [...data.actions].sort(([a], [b]) => rank(a) - rank(b));
  const groups = new Map(order.map(([action]) => [action, []]));
  for (const [title] of CALM) groups.set(title, []);
  for (const n of nodes) groups.get(scene.action[n] || (noun === "node" ? CALM.find(([, kinds]) => kinds.test(scene.kind(n)))[0] : "Others")).push(n);
  $("listtitle").textContent = `${noun[0].toUpperCase()}${noun.slice(1)}s (${nodes.length})`;
  const item = (n, short) => el("li", {}, button(short.replace(/ \(expand\)$/, ""), () => choose(n), { class: "name", "aria-label": scene.name(n) }));
  for (const found of groups.values()) found.sort((a, b) => NUMERIC.compare(scene.name(a), scene.name(b)));
  const was = new Map([...$("list").querySelectorAll("details")].map(one => [one.dataset.group, one.open]));
  const opened = title => isSought() || (was.get(title) ?? (wordsOf.has(title) || !data.changes.length));
  $("list").replaceChildren(...[...groups].filter(([, found]) => found.length).map(([title, found]) => el("details", { "data-group": title, ...(opened(title) ? { open: "" } : {}) },
    el("summary", {}, swatch(colourOf.get(title) || "none"), `${named(title)} (${found.length})`), some(el("ul", { class: "plain" }), found, item, FIRST, n => scene.name(n)))));
  return nodes;
}
const named = action => wordsOf.has(action) ? `${signOf.get(action)} ${wordsOf.get(action)}` : action;
const SOURCE = / \([^()]*:\d+\)$/;
/** A cause without its module and place: edits that only differ in these are listed as one. */
const kindOfCause = cause => cause.replace(MODULE, "").replace(SOURCE, "");
/** The causes of changes that are listed as one, by their kind, with a title. */
function causeKinds() {
  const kinds = new Map();
  for (const change of data.changes) for (const cause of change[3]) {
    const kind = kindOfCause(cause), found = kinds.get(kind) || kinds.set(kind, { causes: new Set(), changes: new Set() }).get(kind);
    found.causes.add(cause); found.changes.add(change);
  }
  for (const [kind, found] of kinds) found.title = causeTitle(kind, found.causes);
  return kinds;
}
function causeTitle(kind, causes) {
  const [first] = causes, places = new Set([...causes].map(cause => SOURCE.exec(cause)?.[0] || ""));
  return causes.size === 1 ? first : `${kind}${places.size === 1 ? [...places][0] : ""} in ${several(new Set([...causes].map(cause => MODULE.exec(cause)?.[0])).size, "module")}`;
}
const isOfGroup = change => group !== null && change[3].some(cause => cause === group || kindOfCause(cause) === group);
function chooseGroup(name) {
  group = group === name ? null : name;
  const nodes = fillList();
  syncControls();
  if (group === null) { drawing.marked = null; drawing.redraw(); say("All causes."); return; }
  if (nodes.length <= OPENED) for (const node of nodes) scene.reveal(node); // few are shown, not only counted at their boxes
  mark(nodes);
  say(`${group}: ${several(nodes.length, noun)}.`);
  note({ cause: group });
}
/** Mark nodes, and bring them into view unless they are there already. */
function mark(nodes) {
  drawing.marked = { ...marks(nodes, new Set()), isCounted: true };
  const area = scene.around(nodes), isLegible = drawing.eye.k >= LEGIBLE;
  if (area && !(isLegible && drawing.sees(area))) drawing.fitTo(area); else drawing.redraw();
}
function fillSide() {
  implied.checked = scene.implied;
  $("layers").replaceChildren(
    ...data.layers.map(([name, meant], n) => layerBox(name, meant, n)),
    el("label", { title: "edges that follow from others" }, implied, " implied by others"));
  const calm = ([, colour]) => RISKY.includes(colour) ? 0 : 1;
  $("legend").replaceChildren(...[...data.actions].sort((a, b) => calm(a) - calm(b)).map(([action, colour]) => el("li", {}, swatch(colour), named(action))), el("li", {}, swatch("none"), "no change"));
  const kinds = causeKinds();
  $("groupsection").hidden = !kinds.size;
  const groupItem = ([kind, { causes, changes, title }]) => {
    const name = causes.size === 1 ? title : kind;
    return el("li", {}, button(`${title} (${changes.size})`, () => chooseGroup(name), { "data-group": name, "aria-pressed": String(group === name) }));
  };
  some($("groups"), [...kinds].sort(([, a], [, b]) => b.changes.size - a.changes.size), groupItem, 8);
  $("verdictsection").hidden = !data.verdicts.length;
  $("verdicts").replaceChildren(...verdictItems(data.verdicts));
  $("views").hidden = data.views.length < 2;
  $("view").replaceChildren(...data.views.map((view, n) => el("option", { value: n }, view.title)));
  $("view").value = data.views.indexOf(scene.view);
}
/** Verdicts as items of a list, with the objects of each below it. `sign`: text before each. */
function verdictItems(verdicts, sign = "") {
  const found = new Map(); // objects by verdict
  for (const [kind, code, address, message] of verdicts) { const key = JSON.stringify([kind, code, message]); found.set(key, [...(found.get(key) || []), address]); }
  return [...found].map(([key, addresses]) => {
    const [kind, code, message] = JSON.parse(key), item = (address, short) => el("li", {}, changeButton(address, short));
    return el("li", {}, sign, el("strong", { class: kind }, kind), ` ${code}: ${message}`, some(el("ul", { class: "plain" }), addresses, item, 5, address => address));
  });
}
const implied = el("input", { type: "checkbox", onchange: () => { scene.implied = implied.checked; scene.connect(); drawing.redraw(); } });
function layerBox(name, meant, n) {
  const box = el("input", { type: "checkbox", "data-layer": name, onchange: () => {
    scene.visible ^= 1 << n; scene.connect(); drawing.redraw();
    say(`${name} edges are ${box.checked ? "shown" : "hidden"}.`);
  } });
  box.checked = scene.visible >> n & 1;
  return el("label", { title: meant }, box, " ", stroke(name), name);
}
function syncControls() {
  $("changed").checked = scene.onlyChanged;
  for (const one of $("groups").querySelectorAll("button")) one.setAttribute("aria-pressed", String(one.dataset.group === group));
  const hasBoxes = scene.boxes.length > 1;
  $("fold").hidden = $("unfold").hidden = !hasBoxes;
}
function foldAll(folded) { scene.foldAll(folded); scene.arrange(); drawing.begin(); say(folded ? "All modules are folded." : "All modules are open."); }
function chooseView(n) {
  if (!scenes.has(n)) scenes.set(n, new Scene(data.views[n]));
  const { visible, implied: shown } = scene;
  scene = scenes.get(n);
  Object.assign(scene, { visible, implied: shown });
  scene.arrange();
  start = null;
  drawing.show(scene);
  fillSide(); syncControls(); fillList(); showOverview(); follow();
  say(`${scene.view.title}: ${several(scene.count, noun)}.`);
}

// ---------------------------------------------------------------- links to what is chosen

/** Record what is chosen in the address. */
function note(chosen) {
  const words = new URLSearchParams(scene === scenes.get(0) ? chosen : { graph: scene.view.name, ...chosen });
  history.replaceState(null, "", `#${words}`);
}
/** Choose what the address names. */
function follow() {
  const words = new URLSearchParams(location.hash.slice(1)), n = data.views.findIndex(view => view.name === words.get("graph"));
  if (n >= 0 && scene.view !== data.views[n]) chooseView(n);
  const [node, other] = ["node", "to"].map(word => words.has(word) ? scene.find(words.get(word)) : null);
  if (node !== null && node >= 0 && other !== null && other >= 0) {
    const edge = scene.out[node].find(e => scene.to[e] === other);
    if (edge !== undefined) { scene.reveal(node); scene.reveal(other); chooseEdge(edge); } else showPath(node, other);
  } else if (node !== null) choose(node);
  else if (words.has("node")) say(`The plan has no "${words.get("node")}".`);
  else if (words.has("cause") && data.changes.some(change => change[3].some(cause => [cause, kindOfCause(cause)].includes(words.get("cause"))))) { group = null; chooseGroup(words.get("cause")); }
}
addEventListener("hashchange", follow);

// ---------------------------------------------------------------- the drawing by keys and pointer

/** The next thing from the chosen one: along the edges, against their flow or with it, or a neighbour beside it. Where no
 * edge leads on, into an open group, to the next row of a grid, or out to the group around. */
function step(dx, dy) {
  if (drawing.chosen === null || !scene.where.has(drawing.chosen)) { if (scene.order.length) choose(scene.order[0][0]); return; }
  const chosen = drawing.chosen, { band, at, isDown } = scene.where.get(chosen);
  const along = isDown ? dy : dx, beside = isDown ? dx : dy;
  if (beside) {
    const next = scene.order[band][at + beside];
    if (next === undefined) say("Nothing further beside it."); else choose(next);
    return;
  }
  const things = new Set();
  for (const e of scene.lines) {
    const a = scene.stands[scene.from[e]], b = scene.stands[scene.to[e]];
    if (along < 0 && a === chosen) things.add(b); else if (along > 0 && b === chosen) things.add(a);
  }
  const [x, y] = scene.area(chosen), far = thing => Math.hypot(scene.area(thing)[0] - x, scene.area(thing)[1] - y);
  const near = [...things].sort((a, b) => far(a) - far(b));
  const row = scene.nextRow(chosen, along), group = scene.box(chosen), inside = chosen < 0 && !scene.folded[-1 - chosen] ? scene.contents(-1 - chosen) : [];
  if (near.length) choose(near[0]);
  else if (along > 0 && inside.length) choose(inside[0]);
  else if (row.length) choose(row.reduce((a, b) => far(b) < far(a) ? b : a));
  else if (along < 0 && group > 0) choose(-1 - group);
  else say(along < 0 ? "It waits for nothing that is shown." : "Nothing that is shown waits for it.");
}
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
canvas.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const way = KEYS[event.key];
  if (way && event.shiftKey) drawing.move(-80 * way[0], -80 * way[1]);
  else if (way) step(...way);
  else if (event.key === "Enter" || event.key === " ") {
    if (drawing.chosen === null) return;
    if (drawing.chosen < 0) toggle(-1 - drawing.chosen); else $("details").focus();
  } else if (event.key === "+" || event.key === "=") drawing.zoom(1.3);
  else if (event.key === "-") drawing.zoom(1 / 1.3);
  else if (event.key === "0") drawing.fit();
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", event => {
  const isTyping = event.target.matches("input[type=search], input[type=text], select");
  if (event.key === "/" && !isTyping) { event.preventDefault(); $("search").focus(); }
  else if (event.key === "Escape" && document.querySelector(".menu[open]")) { const [menu] = document.querySelectorAll(".menu[open]"); closeMenus(null); menu.firstElementChild.focus(); }
  else if (event.key === "Escape") { if (isTyping) canvas.focus(); else clearMarks(); }
});
const closeMenus = but => { for (const menu of document.querySelectorAll(".menu[open]")) if (menu !== but) menu.open = false; };
document.addEventListener("click", event => closeMenus(event.target.closest(".menu")));
let held = null;
canvas.addEventListener("pointerdown", event => { held = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); });
canvas.addEventListener("pointermove", event => {
  if (!held) return;
  const dx = event.clientX - held.x, dy = event.clientY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(held, { x: event.clientX, y: event.clientY, moved: true });
  drawing.move(dx, dy);
});
canvas.addEventListener("pointerup", event => {
  const was = held;
  held = null;
  if (!was || was.moved) return;
  const [x, y] = drawing.point(event), thing = scene.at(x, y);
  if (thing !== null) { if (thing < 0) toggle(-1 - thing); else choose(thing, { look: false }); return; }
  const edge = drawing.edgeAt(x, y);
  if (edge !== null) chooseEdge(edge);
});
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  drawing.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

$("search").addEventListener("input", () => {
  const nodes = fillList();
  if (isSought() && nodes.length) mark(nodes); else { drawing.marked = isSought() ? marks([], new Set()) : null; drawing.redraw(); }
  say(`${several(nodes.length, noun)} found.`);
});
$("search").addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  const row = $("list").querySelector(".name"), [first] = isSought() ? matching() : [];
  if (row) row.click(); else if (first !== undefined) choose(first); // the rows of alike things may be closed
});
$("changed").addEventListener("change", () => { scene.onlyChanged = $("changed").checked; scene.open(); drawing.begin(); fillList(); });
$("view").addEventListener("change", () => chooseView(+$("view").value));
$("in").addEventListener("click", () => drawing.zoom(1.4));
$("out").addEventListener("click", () => drawing.zoom(1 / 1.4));
$("fit").addEventListener("click", () => drawing.fit());
$("fold").addEventListener("click", () => foldAll(true));
$("unfold").addEventListener("click", () => foldAll(false));
$("clear").addEventListener("click", clearMarks);

fillSide(); syncControls(); fillList(); showOverview(); follow();
