// Texts, buttons and lists of the page: elements that several of its panes have. Texts are only ever set as text.
"use strict";
const $ = id => document.getElementById(id);
const FIRST = 50;
const { noun } = data;

/** An element with properties and children; children are elements or text. */
function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}
const button = (text, onclick, properties = {}) => el("button", { type: "button", onclick, ...properties }, ...breakable(text));
const LONG = /(?<=[\w"\]][._/])(?=\w)/; // where a long name may be broken
/** A text with places where its long names may be broken. */
const breakable = text => /\S{14}/.test(text) ? text.split(/(?<=\s)/).flatMap(word => word.length < 14 ? [word] : word.split(LONG).flatMap((part, n) => n ? [el("wbr"), part] : [part])) : [text];
/** Copy a text to the clipboard; where that is not allowed, select it. */
async function copy(text, shown) {
  try { await navigator.clipboard.writeText(text); say(`Copied: ${text}`); } catch { getSelection().selectAllChildren(shown); say("Select and copy it with the keyboard."); }
}
const say = text => { $("said").textContent = text; $("said").title = text; };
const several = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

function swatch(colour) {
  const made = el("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = fillOf(colour);
  return made;
}
/** The background of an action: hatched for what is destroyed, so that it is told apart without its colour. */
const fillOf = colour => `var(--fill-${colour}, var(--${colour}))`;
function stroke(layer) {
  const made = el("span", { class: "stroke", "aria-hidden": "true" });
  made.style.color = `var(--${layer})`;
  made.style.borderTopStyle = ["solid", "dashed", "dotted", "dashed", "dashed"][data.layers.findIndex(([name]) => name === layer)];
  return made;
}

const kindOf = node => KIND_WORDS[scene.kind(node)] || scene.kind(node).replaceAll("_", " ");
const KIND_WORDS = { instance_apply: "object", instance_destroy: "object", plan_destroy: "object", orphan: "object", deposed: "deposed object", deposed_destroy: "deposed object",
  root_variable: "variable", module_variable: "variable", variable_reference: "variable", local: "local value", module_expand: "module", module_close: "module", provider_close: "provider", resource_close: "resource" };
const boxNoun = box => box.name.startsWith("module.") && !box.isGroup ? "module" : "group";
const nameOfBox = box => box.isInstances ? `${box.name.slice(0, -box.label.length - 2)}.${box.label}`.replace(/^al\./, "") : box.isGroup ? scene.boxLabel(scene.boxes.indexOf(box)) : box.name;
/** The sign of an action on its colour, with a number where one is given. */
function signOfAction(action, number = null) {
  const word = wordsOf.get(action) || "no change", made = el("span", { class: "sign", title: number === null ? word : `${word}: ${number}` }, `${signOf.get(action) || ""}${number === null ? "" : ` ${number}`}`.trim());
  made.style.background = fillOf(colourOf.get(action) || "none");
  return made;
}
/** The signs of what is done with the objects of a node. */
const signsOf = node => scene.isMixed(node) ? scene.actions(node).map(([action]) => signOfAction(action)) : scene.action[node] ? [signOfAction(scene.action[node])] : [];
/** Words for what is done with the objects of a node. */
const doneWith = node => scene.isMixed(node) ? scene.actions(node).map(([action, number]) => `${signOf.get(action)} ${number} ${wordsOf.get(action)}`).join(", ") : wordsOf.get(scene.action[node]);
const named = action => wordsOf.has(action) ? `${signOf.get(action)} ${wordsOf.get(action)}`.trim() : action;
const OUTPUT = /^output\.[^.[]+$/;
const isOutput = change => noun === "node" && OUTPUT.test(change[0]);
/** The number of changes, by what is changed: `7 objects, 1 output`. */
function countOf(changes) {
  const outputs = [...changes].filter(isOutput).length, others = [...changes].length - outputs;
  return [others || !outputs ? several(others, noun === "node" ? "object" : noun) : "", outputs ? several(outputs, "output") : ""].filter(text => text).join(", ");
}
/** Numbers of objects by what is done with them, each on its colour. */
function signsOfChanges(changes, beside = NOTHING) {
  const objects = byKey([...changes].filter(change => !isOutput(change) && !beside.has(change)), change => change[1]);
  return byRisk().filter(([action]) => objects.has(action)).map(([action]) => signOfAction(action, objects.get(action).length));
}
const NOTHING = new Set();
/** Lists of changes by what is done, the most dangerous first, then of outputs. `beside`: those that are replaced for other causes. */
function byAction(changes, first = 12, beside = NOTHING) {
  const all = [...changes], groups = byRisk().map(([action]) => [[signOfAction(action), wordsOf.get(action)], all.filter(change => change[1] === action && !isOutput(change) && !beside.has(change))]);
  return [...groups, [["Also updates, but other causes replace these"], all.filter(change => beside.has(change))], [["Outputs"], all.filter(isOutput)]].filter(([, own]) => own.length).map(([title, own]) => el("section", { class: "byaction" },
    el("h4", {}, ...title, ` (${own.length})`), some(el("ul", { class: "plain" }), own.sort((a, b) => NUMERIC.compare(a[0], b[0])), title.length > 1 ? (change, short = change[0]) => el("li", {}, changeButton(change[0], short)) : changeItem, first, change => change[0], true)));
}
const byRisk = () => [...data.actions].sort(([a], [b]) => rank(a) - rank(b));

// ---------------------------------------------------------------- lists by module

const MODULE = /^(?:module\.[^.[\s]+(?:\[(?:"(?:\\.|[^"\\])*"|[^\]])*\])?\.)+/;
const ALIKE = 4; // modules from which on what has the same name in each is one item
const COPIED = 8; // objects of modules that only differ in numbers from which on they are one item, if each has the same ones
const INSTANCES = 12; // instances of a resource, or objects of a module, from which on they are one item
const KEY = /\[(?:"(?:\\.|[^"\\])*"|\d+)\]( \(\w+\))?$/; // at the end of the name of an instance
const NUMBER = /\[\d+\]( \(\w+\))?$/; // the same of an instance of count
const moduleOf = name => MODULE.exec(name)?.[0] || "";
function byKey(all, keyOf) {
  const found = new Map();
  for (const one of all) { const key = keyOf(one); if (found.has(key)) found.get(key).push(one); else found.set(key, [one]); }
  return found;
}
/** The number of things with these names: of outputs and values apart from objects. */
function countNamed(names) {
  const all = kind => noun === "node" && names.every(name => kind.test(name.replace(MODULE, "")));
  return several(names.length, all(OUTPUT) ? "output" : noun !== "node" ? noun : all(VALUE) ? "value" : names.some(name => OUTPUT.test(name.replace(MODULE, "")) || VALUE.test(name.replace(MODULE, ""))) ? "name" : "object");
}
const VALUE = /^(var|local)\./;
let removedModules = { scene: null, by: null };
/** The outermost module around an object of which everything is destroyed; "" for none. */
function removedModule(name) {
  if (removedModules.scene !== scene) removedModules = { scene, by: new Set(scene.boxes.filter(box => box.name && !box.isGroup && box.tally.size === 1 && colourOf.get([...box.tally.keys()][0]) === "delete").map(box => box.name)) };
  if (!removedModules.by.size) return "";
  let around = "";
  for (const call of (MODULE.exec(name)?.[0] || "").match(CALLED) || []) { around += `${around && "."}${call}`; if (removedModules.by.has(around)) return around; }
  return "";
}
/** Items of a list by module: [module, [thing...], title]. Many alike things are one item with a title: those of a
 * name in many modules, the instances of a resource, or those of one module, whichever leaves fewer lines. */
function entries(all, nameOf) {
  const own = (things, titled) => [...byKey(things, one => nameOf(one).replace(KEY, "[]$1")).values()]
    .flatMap(those => those.length < INSTANCES ? those.map(one => [moduleOf(nameOf(one)), [one], ""])
      : [[moduleOf(nameOf(those[0])), those, `${nameOf(those[0]).replace(MODULE, "").replace(KEY, "$1")}: ${several(those.length, "instance")}`]]).concat(titled);
  const split = (keyOf, least, title) => (things, titled, further) => {
    const many = [...byKey(things, keyOf).values()].filter(those => those.length >= least).map(those => [null, those, title(those)]).filter(([, , text]) => text !== null), known = new Set(many.flatMap(([, those]) => those));
    return further(things.filter(one => !known.has(one)), [...titled, ...many], own);
  };
  const family = one => nameOf(one).replace(MODULE, "").replace(NUMBER, "[*]$1"); // all instances by number together
  const alike = split(family, ALIKE, those => {
    const modules = new Set(those.map(one => moduleOf(nameOf(one)))).size, name = nameOf(those[0]).replace(MODULE, "");
    if (modules < ALIKE) return null;
    return those.length > modules ? `${family(those[0])}: ${those.length} in ${several(modules, "module")}` : `${those.every(one => nameOf(one).replace(MODULE, "") === name) ? name : family(those[0])} in ${several(modules, "module")}`;
  });
  const isOf = one => OUTPUT.test(nameOf(one).replace(MODULE, "")) ? " outputs" : ""; // apart from the others of a module
  const whole = split(one => moduleOf(nameOf(one)) ? `${moduleOf(nameOf(one))}${isOf(one)}` : nameOf(one), INSTANCES, those => `${moduleOf(nameOf(those[0])).slice(0, -1)}: ${countNamed(those.map(nameOf))}`);
  const isCopied = those => { // whether several modules have the same of these
    const modules = [...byKey(those, one => moduleOf(nameOf(one))).values()];
    return modules.length > 1 && new Set(modules.map(own => own.map(one => nameOf(one).replace(MODULE, "")).sort().join())).size === 1;
  };
  const counted = one => moduleOf(nameOf(one)).replace(/\[\d+\]\.$/, "[*]."), copies = split(one => `${counted(one)}${isOf(one)}`, COPIED, those => isCopied(those) ? `${counted(those[0]).slice(0, -1)}: ${countNamed(those.map(nameOf))}` : null);
  const then = (one, other) => (things, titled, further) => one(things, titled, (rest, found) => other(rest, found, further));
  const removed = split(one => removedModule(nameOf(one)), ALIKE, those => { const name = removedModule(nameOf(those[0])); return name && those.length === scene.boxes.find(box => box.name === name).distinct.size ? `${name}: ${countNamed(those.map(nameOf))}` : null; });
  const gone = removed(all, [], (rest, found) => [rest, found]), left = gone[0];
  const isOneModule = scene.boxes.filter(box => box.name && box.changed && !box.isGroup).length < 2;
  const best = isOneModule ? alike(left, gone[1], own) : [alike(left, gone[1], then(copies, whole)), copies(left, gone[1], then(whole, alike)), whole(left, gone[1], alike)].reduce((a, b) => b.length < a.length ? b : a);
  return best.sort(([a, [one]], [b, [other]]) => a === null || b === null ? (a === null) - (b === null) : NUMERIC.compare(a, b) || NUMERIC.compare(nameOf(one), nameOf(other)));
}
/** Lines for entries of a list: a module is written once above its things. `item` makes one of a name without its module. */
function byModule(those, nameOf, item) {
  let last = "";
  return those.map(([module, things, title]) => {
    const short = one => nameOf(one).replace(MODULE, "");
    if (module === null) {
      const modules = byKey(things, one => moduleOf(nameOf(one)).slice(0, -1) || "the root module");
      const alike = modules.size > 1 && modules.size < things.length ? foldedItem(title, list => some(list, [...modules], ([name, own]) => own.length > 1 ? alikeItem(`${name}: ${own.length}`, own, item, short) : item(own[0], name), FIRST))
        : alikeItem(title, things, item, modules.size === 1 ? short : one => moduleOf(nameOf(one)).slice(0, -1) || "the root module");
      if (last && !MODULE.test(title)) alike.prepend(el("div", { class: "module" }, modules.size > 1 ? "several modules" : moduleName([...modules.keys()][0]))); // not that of the lines above
      last = "";
      return alike;
    }
    const line = title ? alikeItem(title, things, item, short) : item(things[0], short(things[0]));
    if (module !== last) line.prepend(el("div", { class: "module" }, moduleName(module.slice(0, -1))));
    last = module;
    return line;
  });
}
/** The name of a module, or this text, as a button if the graph has the module. */
function moduleName(name, text = name) {
  const b = scene.boxes.findIndex(box => box.name === name && !box.isGroup);
  return b > 0 && scene.isShown(-1 - b) ? button(text, () => choose(-1 - b), { class: "name", title: "Show this module in the graph" }) : text;
}
/** An item whose list is filled when it is unfolded. */
function foldedItem(title, fill) {
  const list = el("ul", { class: "plain" });
  return el("li", {}, el("details", { class: "alike", ontoggle: () => { if (!list.firstChild) fill(list); } }, el("summary", {}, ...breakable(title)), list));
}
/** An item for many alike things. */
function alikeItem(title, found, item, labelOf) {
  found = [...found].sort((a, b) => NUMERIC.compare(labelOf(a), labelOf(b)));
  const families = byKey(found, one => labelOf(one).replace(/\d+/g, "*"));
  const family = ([name, those]) => those.length > ALIKE ? alikeItem(`${name} (${those.length})`, those, item, labelOf) : el("li", {}, el("ul", { class: "plain" }, ...those.map(one => item(one, labelOf(one)))));
  return foldedItem(title, list => {
    const shown = moduleName(title.replace(/: \d+ \w+$/, ""), "Show it in the graph");
    if (typeof shown !== "string") list.before(el("p", { class: "why" }, shown));
    if (found.length > FIRST && families.size > 1 && families.size <= INSTANCES) list.append(...[...families].map(family));
    else some(list, found, one => item(one, labelOf(one)), FIRST);
  });
}
/** Fill a list with some of what there is, and a button for the rest. With `nameOf` by module; `isOpened`: also
 * the only line of the list if it is for many alike things. */
function some(list, all, item, first, nameOf = null, isOpened = false) {
  const number = all.length, lines = those => nameOf ? byModule(those, nameOf, item) : those.map(item);
  if (nameOf) all = entries(all, nameOf);
  if (all.length <= first + 2) first = all.length; // a button for two lines saves nothing
  list.replaceChildren(...lines(all.slice(0, first)));
  if (isOpened && all.length === 1 && number <= INSTANCES) for (const alike of list.querySelectorAll("details")) alike.open = true;
  if (all.length > first) list.append(el("li", {}, button(`Show all ${number}`, () => {
    const at = list.children.length - 1;
    list.replaceChildren(...lines(all));
    (list.children[at].querySelector("button, summary") || list).focus(); // where the button was
  })));
  return list;
}
/** The button of a changed object; of one that only another graph has, it leads there. */
function changeButton(address, short = address) {
  const open = () => {
    if (left && nodesIn(left).has(address)) takeBack(); // the list of all changes leads to the graph from which it came
    const there = otherGraphWith(address);
    asked = address;
    if (scene.nodeOf.has(address)) choose(scene.nodeOf.get(address)); else if (there) chooseIn(...there);
    asked = null;
  };
  return scene.nodeOf.has(address) || otherGraphWith(address) ? button(short, open, { class: "name", "aria-label": address }) : document.createTextNode(short);
}
let asked = null; // the change whose details were requested, of a node that has several
const changedIn = new WeakMap(); // by view: {address of a change: its node}
function nodesIn(view) {
  if (!changedIn.has(view)) changedIn.set(view, new Map(Object.entries(view.nodes.changes).flatMap(([node, changes]) => changes.map(n => [data.changes[n][0], +node]))));
  return changedIn.get(view);
}
/** [number of another graph, node] of a changed object; null if none has it. */
function otherGraphWith(address) {
  for (const [number, view] of data.views.entries()) {
    if (view === scene.view) continue;
    if (nodesIn(view).has(address)) return [number, nodesIn(view).get(address)];
  }
  return null;
}
/** A remark on an object that holds data and is destroyed. */
const dataMark = change => losesData(change) ? el("strong", { class: "deny" }, " holds data") : null;
/** The former address of an object that was moved, below its name. */
const movedMark = change => formerOf(change) ? el("div", { class: "why" }, ...breakable(`moved from ${formerOf(change)}`)) : null;
const nodeButton = (node, short = scene.shown(node)) => button(short, () => choose(node), { class: "name", "aria-label": [scene.shown(node), scene.part(node)].filter(text => text).join(", ") });

// ---------------------------------------------------------------- the dependencies of a line

const SEVERAL = 3; // alike dependencies from which on they are one item
const READ_PAIRS = 50; // reads between two things that are listed
const FEW_ENDS = 12; // things that others wait for, up to which each has items of its own
/** A name with the keys of its instances left out, and of the modules around it. */
const familyOf = name => name.replace(INSTANCE_KEYS, "[*]");
const partNamed = (name, node) => scene.part(node) ? `${name} (${scene.part(node)})` : name;
/** Dependencies between two things, for each direction: those that pass on a value, then orders of destruction, then other orders, these with their reasons. */
function dependencyParts(edges, [one, other]) {
  const isIn = (node, thing) => scene.stands[node] === thing || thing < 0 && scene.outward(scene.box(node)).includes(-1 - thing);
  const isForward = e => isIn(scene.from[e], one) && isIn(scene.to[e], other), name = thing => thing >= 0 ? partNamed(scene.shown(thing), thing) : nameOfBox(scene.boxes[-1 - thing]);
  return [[one, other, edges.filter(isForward)], [other, one, edges.filter(e => !isForward(e))]].flatMap(([from, to, own]) => own.length ? [el("h3", {}, ...breakable(`${name(from)} waits for ${name(to)} (${own.length})`)), ...readParts(from, to, own), ...kindParts(own, name(to))] : []);
}
/** What reads a value though none of these edges does: others imply the edges that do. */
function readParts(from, to, edges) {
  if (noun !== "node" || edges.some(e => scene.isReference(e) && scene.isReadAlong(e))) return [];
  const pairs = scene.readsOf(from, to, READ_PAIRS), item = ([reader, source]) => el("li", {}, nodeButton(reader), " reads ", nodeButton(source), " ", button("why", () => showPath(reader, source), { class: "small" }));
  return pairs.length ? [el("h4", {}, `A value is read, also through hidden objects (${pairs.length < READ_PAIRS ? pairs.length : `${READ_PAIRS} or more`})`), some(el("ul", { class: "plain" }), pairs, item, FEW_ENDS)] : [];
}
function kindParts(edges, module) {
  if (noun !== "node") return [dependencyList(edges, module)];
  const kindOf = e => scene.isReference(e) && scene.isReadAlong(e) ? "A value is read" : scene.layerNames(e)[0] === "destroy" ? "Order of destruction" : "Only the order", kinds = byKey(edges, kindOf);
  return ["A value is read", "Order of destruction", "Only the order"].filter(kind => kinds.has(kind)).flatMap(kind => [el("h4", {}, `${kind} (${kinds.get(kind).length})`),
    ...(kind !== "A value is read" ? [...byKey(kinds.get(kind), formOf)].flatMap(([, own]) => [reasonOf(own), dependencyList(own, module)]) : [allInstancesNote(kinds.get(kind).map(e => [scene.from[e], scene.to[e]])), dependencyList(kinds.get(kind), module)])].filter(part => part));
}
/** A remark on references to instances in which the reader is not: it may use the value of another instance. */
function allInstancesNote(pairs) {
  const isOfSeveral = ([reader, source]) => { const name = scene.shown(source), keys = name.match(INSTANCE_KEYS); return keys !== null && !scene.shown(reader).startsWith(name.slice(0, name.lastIndexOf(keys.at(-1)) + keys.at(-1).length)); };
  return noun === "node" && pairs.some(isOfSeveral) ? el("p", { class: "why" }, "A reference to something with several instances waits for all of them, even if it uses the value of only one.") : null;
}
/** The reason of an order without its names: alike ones have the same. */
const formOf = e => { const step = orderEdge(e), [number] = [scene.view.edges.grounds[step]].flat(); return scene.isReference(step) || number === undefined ? "" : scene.text(data.grounds[number][1]); };
/** The reason of orders in a sentence. Where the names in it are not those of one resource for all, it is an example. */
function reasonOf(edges) {
  const steps = edges.map(orderEdge), [first] = steps, form = formOf(edges[0]).replace(VERTEX, "");
  if (scene.isReference(first)) return el("p", { class: "why" }, orderOf(edges[0], true));
  if (!form) return null;
  const nameOf = [e => scene.nameBeside(scene.from[e], scene.to[e]), e => scene.nameBeside(scene.to[e], scene.from[e]), e => scene.aboutBeside(scene.from[e], scene.to[e]), e => scene.aboutBeside(scene.to[e], scene.from[e])];
  const different = change => new Set((form.match(/[\x01-\x04]/g) || []).filter(mark => new Set(steps.map(e => change(nameOf[mark.charCodeAt(0) - 1](e)))).size > 1)), isExample = different(familyOf).size > 0, alike = isExample ? NOTHING : different(name => name);
  const text = form.replace(/^[a-z]/, letter => isExample ? letter : letter.toUpperCase()).replace(/[\x01-\x04]/g, mark => { const name = nameOf[mark.charCodeAt(0) - 1](first); return alike.has(mark) ? familyOf(name) : name; });
  return el("p", { class: "why" }, ...breakable(`${isExample ? "For example: " : ""}${text}.`));
}
/** Dependencies, many alike ones in one item: of a resource, what waits for the same thing, or what it waits for. */
function dependencyList(edges, module) {
  const plain = node => partNamed(scene.shown(node).startsWith(`${module}.`) ? scene.shown(node).slice(module.length + 1) : scene.shown(node), node), counted = ends => new Set(edges.map(e => ends[e])).size;
  const isOut = counted(scene.from) < counted(scene.to), [near, far] = isOut ? [scene.from, scene.to] : [scene.to, scene.from]; // the near ends are few
  const nameOf = e => scene.shown(far[e]), isFew = counted(near) <= FEW_ENDS, end = e => isFew ? plain(near[e]) : familyOf(plain(near[e])), grouped = new Set();
  const title = own => {
    const modules = new Set(own.map(e => moduleOf(nameOf(e)))), names = new Set(own.map(nameOf)), [first] = own, nameIn = e => nameOf(e).replace(MODULE, ""), short = own.every(e => nameIn(e) === nameIn(first)) ? nameIn(first) : familyOf(nameIn(first));
    const those = partNamed(names.size === 1 ? nameOf(first) : short, far[first]), number = names.size === 1 ? "" : modules.size === 1 ? `${names.size}` : names.size > modules.size ? `${names.size} in ${several(modules.size, "module")}` : `in ${several(modules.size, "module")}`;
    const counting = number && (/^in/.test(number) ? `${those} ${number}` : `${those}: ${number}`) || those;
    return isOut ? `${end(first)} waits for ${counting}` : `${counting} ${names.size === 1 ? "waits" : "wait"} for ${end(first)}`;
  };
  const items = [...byKey(edges, e => `${partNamed(bare(nameOf(e)), far[e])} ${end(e)}`).values()].flatMap(own => {
    if (own.length < SEVERAL) return own.map(e => [moduleOf(nameOf(e)), [e], ""]);
    if (isFew) for (const e of own) grouped.add(e); // the title says what is near
    return [[null, own, title(own)]];
  });
  items.sort(([a, [one]], [b, [other]]) => (a === null) - (b === null) || NUMERIC.compare(nameOf(one), nameOf(other)) || near[one] - near[other]);
  const linked = (node, text) => [...signsOf(node), nodeButton(node, text)];
  const item = (e, short = nameOf(e)) => {
    const there = linked(far[e], partNamed(short, far[e])), both = isOut ? [...linked(near[e], plain(near[e])), " waits for ", ...there] : [...there, " waits for ", ...linked(near[e], plain(near[e]))];
    return el("li", {}, ...(grouped.has(e) ? there : both), " ", button("why", () => chooseEdge(e), { class: "small", "aria-label": `why ${scene.shown(scene.from[e])} waits for ${scene.shown(scene.to[e])}` }));
  };
  const list = el("ul", { class: "plain" }), lines = those => byModule(those, nameOf, item);
  list.append(...lines(items.slice(0, FIRST)));
  if (items.length > FIRST) list.append(el("li", {}, button(`Show all ${items.length}`, () => { list.lastChild.replaceWith(...lines(items.slice(FIRST))); list.tabIndex = -1; list.focus(); })));
  return list;
}
