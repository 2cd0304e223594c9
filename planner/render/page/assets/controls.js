// What people do with the page: choose, fold, walk through the drawing, and follow links.
"use strict";
let group = null, start = null, actionFilter = null; // the chosen cause, the node where a path begins, and what alone is listed
let scene = new Scene(data.views[0]);
const scenes = new Map([[0, scene]]), room = canvas.clientHeight;
fillPanes();
if (canvas.clientHeight !== room) scene.open(); // the tools have more lines with their contents
const drawing = new Drawing(scene);

function fillPanes() { fillSummary(); fillSide(); fillList(); showOverview(); syncControls(); }
/** A text for screen readers about a thing. */
function spoken(thing) {
  if (thing < 0) {
    const b = -1 - thing, box = scene.boxes[b];
    return `${nameOfBox(box)}, ${boxNoun(box)}: ${boxCount(box)}, ${scene.isEmpty(b) ? "nothing in it is shown" : scene.folded[b] ? "folded" : "open"}`;
  }
  const action = scene.isOld(thing) ? ", old object" : scene.action[thing] ? `, ${doneWith(thing)}` : "";
  const [before, after] = [true, false].map(isOut => counted(neighbours(thing, isOut)).number);
  return `${scene.shown(thing)}, ${kindOf(thing)}${action}; ${scene.halves(thing).length ? "its old and new object together: " : ""}waits for ${before}, ${after} ${after === 1 ? "waits" : "wait"} for it`;
}
/** The box that is drawn around a thing, or the thing. */
function drawnFor(thing) {
  while (thing !== -1 && !scene.where.has(thing)) thing = -1 - (thing >= 0 ? scene.view.nodes.box[thing] : scene.boxes[-1 - thing].parent);
  return thing;
}
/** The thing that is drawn for a thing; null for none. */
const standIn = thing => drawnFor(thing) === -1 ? null : drawnFor(thing);
/** Change what is folded or shown, with what is drawn for a thing where it was on the screen. */
function still(thing, change) {
  const drawn = drawnFor(thing), before = scene.area(drawn).slice(0, 2), result = change();
  if (drawn === -1 || scene.where.has(drawn)) drawing.follow(before, scene.area(drawn));
  return result;
}
/** The part of a thing to bring into view: its box, too, where that has room. */
function wanted(thing) {
  const area = scene.area(thing), box = drawnFor(thing) === thing ? scene.box(thing) : 0, around = box > 0 ? scene.area(-1 - box) : null;
  if (around && drawing.scaleOf(around) >= LEGIBLE) return around;
  const [x, y, w, h] = area, k = Math.max(drawing.eye.k, LEGIBLE); // of a large box, its beginning
  return [x, y, Math.min(w, (drawing.width - 2 * EDGE) / k), Math.min(h, (drawing.height - 2 * EDGE) / k)];
}
function choose(thing, { look = true } = {}) {
  if (start !== null && thing >= 0 && thing !== start) { showPath(start, thing); return; }
  remember();
  if (still(thing, () => scene.reveal([thing], scene.where.has(thing) ? null : foldedAtRest()))) syncControls();
  if (thing >= 0) scene.findOwnWays(thing);
  drawing.chosen = drawnFor(thing);
  drawing.marked = thing < 0 ? null : scene.causing.has(thing) && !scene.action[thing] ? marksOfCauses(cause => scene.causes(thing).includes(cause), thing) : around(thing);
  const near = thing >= 0 && drawing.marked.nodes.size <= OPENED ? scene.around([...drawing.marked.nodes].filter(node => !drawing.marked.origins?.includes(node))) : null;
  if (look && near) drawing.focus(scene.area(drawing.chosen), near); else if (look) drawing.focus(wanted(drawing.chosen)); else drawing.redraw();
  note({ node: scene.title(thing) }, thing >= 0 ? scene.shown(thing) : nameOfBox(scene.boxes[-1 - thing]));
  say(spoken(thing));
  if (thing >= 0) showNode(thing); else showBox(-1 - thing);
  showCurrent(thing >= 0 ? scene.shown(thing) : null);
}
/** What a node waits for, or what waits for it, as [edge, other node], each object once: what is drawn, directly and by
 * ways through what is not drawn, `shared` where no value is read as these only lead through what all instances of a module have in common, and the others. An order that others imply is left out, as it says little, but not the order of destruction. */
function neighbours(node, isOut) {
  const own = new Set([node, ...scene.halves(node)]), [near, far] = isOut ? [scene.from, scene.to] : [scene.to, scene.from];
  const found = { direct: [], through: [], others: [] }, seen = new Set();
  const add = (list, e) => {
    const key = `${scene.shown(far[e])} ${scene.part(far[e])}`;
    if (!own.has(far[e]) && !seen.has(key)) { seen.add(key); list.push([e, far[e]]); }
  };
  const edges = [...own].flatMap(n => isOut ? scene.out[n] : scene.in[n]), isPlain = e => !(scene.layers[e] & IMPLIED) || scene.isReference(e) || scene.needed.has(e) || scene.action[scene.from[e]] && scene.action[scene.to[e]] && scene.layerNames(e).includes("destroy");
  for (const e of edges) if (isPlain(e) && !scene.hidden[far[e]]) add(found.direct, e);
  if (scene.own && scene.own.node !== node) scene.findOwnWays(node);
  for (const e of scene.own ? scene.own.edges : scene.ways.keys()) if (own.has(near[e])) add(found.through, e);
  for (const e of edges) if (scene.hidden[far[e]]) add(found.others, e);
  const isShared = ([e, other]) => noun === "node" && scene.isReference(e) && !scene.isReadAlong(e) && !(isOut ? scene.readersOf([other]).has(node) : scene.readersOf([...own]).has(other));
  const shared = new Set(found.through.filter(isShared));
  found.shared = [...shared];
  found.through = found.through.filter(pair => !shared.has(pair));
  const known = new Set([...found.direct, ...found.through].filter(([e]) => scene.isReference(e)).map(([, other]) => other));
  const more = noun !== "node" ? [] : isOut ? scene.nearSources([...own]) : scene.nearReaders([...own]);
  found.more = more.filter(other => !known.has(other)).map(other => [null, other]); // of which no line is drawn
  return found;
}
/** What is listed of neighbours: those that are drawn, and their number with the others of which a value is read. */
function counted({ direct, through, shared, more }) {
  const read = new Set(more.map(([, other]) => other)), drawn = [...direct, ...through].filter(([, other]) => !read.has(other));
  return { drawn, number: drawn.length + shared.length + more.length };
}
/** A node and its other half, with what the details list as drawn. */
function around(node) {
  const causes = new Set(scene.changes(node).flatMap(change => scene.isOld(node) ? change[3].filter(cause => isForced(change, one => one === cause)) : change[3])), isOrigin = cause => scene.causes(cause).some(one => causes.has(one)), origins = [...scene.causing].filter(cause => cause !== node && !scene.hidden[cause] && !scene.action[cause] && isOrigin(cause));
  const isOther = ([, other]) => causes.size > 0 && scene.causing.has(other) && !scene.action[other] && !isOrigin(other); // a cause, but not of this
  const halves = scene.halves(node), pairs = [true, false].flatMap(isOut => { const { direct, through, more } = neighbours(node, isOut); return [...direct, ...through, ...more].filter(pair => !isOther(pair)); });
  const both = new Set([node, ...halves]), between = [...both].flatMap(n => scene.out[n].filter(e => both.has(scene.to[e]))); // from the old object to the new one
  const near = marks([node, ...halves, ...origins, ...pairs.map(([, other]) => other)], new Set([...pairs.map(([edge]) => edge).filter(edge => edge !== null), ...between]));
  return { ...near, origins, halves: new Set(halves.filter(other => !scene.hidden[other]).map(other => scene.stands[other])) };
}
/** Marked nodes and edges, with the number of objects that each box has of them. `names`: of the objects, to be shown at folded boxes; `beside`: the changes that do not count there. */
function marks(nodes, edges, names = null, beside = NOTHING) {
  const set = new Set(nodes), boxes = new Map(), known = new Set(), touched = names && new Map();
  const isChanging = node => scene.changes(node).length > 0; // first, as other nodes have the names of objects, too
  for (const node of names ? [...[...set].filter(isChanging), ...[...set].filter(other => !isChanging(other))] : set) {
    const own = names ? new Set([scene.shown(node), ...scene.changes(node).map(([address]) => address)].filter(name => names.has(name) && !known.has(name))) : [];
    for (const name of own) known.add(name);
    const actions = touched ? scene.changes(node).filter(change => own.has(change[0]) && !beside.has(change)).map(([, action]) => action).filter(action => signOf.has(action)) : [];
    for (let b = scene.view.nodes.box[node]; b > 0; b = scene.boxes[b].parent) {
      boxes.set(b, (boxes.get(b) || 0) + (names ? own.size : 1));
      if (touched && !touched.has(b)) touched.set(b, new Map());
      for (const action of actions) touched.get(b).set(action, (touched.get(b).get(action) || 0) + 1);
    }
  }
  if (touched) for (const [b, tally] of touched) touched.set(b, [...tally].sort(([a], [c]) => rank(a) - rank(c)));
  return { nodes: set, boxes, edges, touched, isCounted: names !== null };
}
function chooseEdge(edge) {
  if (scene.wayOf(edge)) { showPath(scene.from[edge], scene.to[edge]); return; }
  drawing.chosen = standIn(scene.from[edge]);
  drawing.marked = marks([scene.from[edge], scene.to[edge]], new Set([edge]));
  drawing.redraw();
  note({ node: scene.name(scene.from[edge]), to: scene.name(scene.to[edge]) }, "Order", [edge]);
  showCurrent(null);
  showEdge(edge);
  say(`${scene.shown(scene.from[edge])} waits for ${scene.shown(scene.to[edge])}`);
}
/** Choose a line of the drawing: of several dependencies, these are listed first. */
function chooseLine(edge) {
  const edges = scene.bundle(edge);
  if (edges.length === 1) { chooseEdge(edge); return; }
  drawing.chosen = null;
  drawing.marked = marks(edges.flatMap(e => [scene.from[e], scene.to[e]]), new Set(edges));
  drawing.redraw();
  const [one, other] = scene.ends(edge).map(thing => scene.title(thing));
  note({ node: one, to: other }, "Order");
  showCurrent(null);
  showLine(edge, edges);
}
function toggle(b) {
  if (scene.isEmpty(b)) { choose(-1 - b); return; }
  still(-1 - b, () => { scene.folded[b] = !scene.folded[b]; scene.arrange(); });
  drawing.chosen = -1 - b;
  if (!drawing.marked?.isCounted) drawing.marked = null; // of a node chosen before
  keepFolding(b);
  syncControls();
  const [x, y, w, h] = scene.area(-1 - b), [width, height] = [drawing.width - 2 * EDGE, drawing.height - 2 * EDGE], worst = scene.folded[b] ? null : scene.worst(b);
  drawing.focus([x, y, Math.min(w, width / LEGIBLE), Math.min(h, height / LEGIBLE)]); // of a large box, its beginning
  if (worst !== null && !drawing.sees(scene.area(worst))) drawing.focus(scene.area(worst));
  drawing.redraw(true);
  note({ node: scene.title(-1 - b) }, nameOfBox(scene.boxes[b]));
  say(spoken(-1 - b));
  showBox(b); showCurrent(null);
}
function clearMarks() {
  hideBanner();
  actionFilter = null;
  restore();
  drawing.chosen = null; drawing.marked = null; start = null; group = null;
  $("search").value = "";
  if (location.hash) history.pushState({ from: current }, "", location.pathname + location.search);
  current = null;
  drawing.redraw(true);
  showOverview(); fillList(); syncControls(); showCurrent(null); syncChips();
  say("Nothing is marked.");
}
/** What causes set off, with the nodes in which they are: an old object only if they force its replacement. `isOf`: whether a cause is one of these. */
function marksOfCauses(isOf, ...sources) {
  const changes = data.changes.filter(change => change[3].some(isOf)), own = new Set(changes), beside = new Set(changes.filter(change => !isForced(change, isOf))), nodes = [...sources];
  for (let n = 0; n < scene.count; n++) if (scene.changes(n).some(change => own.has(change) && !(scene.isOld(n) && beside.has(change)))) nodes.push(n);
  return { ...marks(nodes, new Set(), new Set(changes.map(([address]) => address)), beside), sources };
}
/** Mark nodes, and bring what is drawn for them into view: few are unfolded, and if not all are legible together, the most
 * dangerous come first. Returns how many objects are outside. `mark` makes the marks. */
function presentAll(nodes, mark) {
  remember();
  drawing.chosen = null;
  if (rest.view === scene.view && rest.eye && !drawing.isMoved) drawing.eye = rest.eye;
  if (still(nodes[0] ?? -1, () => scene.reveal(nodes.length <= OPENED ? nodes : [], foldedAtRest()))) syncControls();
  drawing.marked = mark();
  const seen = nodes.filter(node => !scene.hidden[node]), areas = [...byKey(seen, node => scene.stands[node])].map(([thing, those]) => [scene.area(thing), those.reduce((least, node) => Math.min(least, scene.risk(node)), Infinity)]).sort(([, a], [, b]) => a - b);
  const all = scene.around(seen), gravest = areas.filter(([, risk]) => risk === areas[0][1]).map(([area]) => area);
  if (!all) { drawing.redraw(true); return ""; }
  if (drawing.scaleOf(all) >= COARSE) drawing.bring(all, COARSE); else drawing.focus(drawing.most(gravest, LEGIBLE));
  const outside = new Set(seen.filter(node => !drawing.sees(scene.area(scene.stands[node]))).map(node => scene.shown(node))).size;
  return outside ? `, ${outside} of them outside the view` : "";
}
const isOfGroup = change => group !== null && change[3].some(cause => cause === group || kindOfCause(cause) === group);
/** Mark the changes of a cause, and list them; of the chosen one, nothing. */
function chooseGroup(name) {
  group = group === name ? null : name;
  if (actionFilter !== null) { actionFilter = null; fillList(); syncChips(); }
  if (document.body.classList.contains("chosen") || !$("groups")) showOverview(); else syncCauses();
  showCurrent(null);
  if (group === null) {
    if (!isSought()) restore();
    drawing.chosen = null; drawing.marked = null; drawing.redraw(true); say("All causes.");
    return;
  }
  const changes = data.changes.filter(isOfGroup), sources = [...scene.causing].filter(node => scene.causes(node).some(cause => cause === group || kindOfCause(cause) === group));
  const affected = marksOfCauses(cause => cause === group || kindOfCause(cause) === group, ...sources), outside = presentAll([...affected.nodes], () => affected);
  say(`${arrows(causeKinds().get(group)?.title || group)}: ${countOf(changes)}${outside}.`);
  note({ cause: group }, "Cause");
}
/** Begin to show what was arranged anew: the box around the chosen thing is chosen if that is not drawn any more. */
function beginAgain() {
  if (drawing.chosen !== null) drawing.chosen = standIn(drawing.chosen);
  drawing.begin();
}
/** Bring the most dangerous change into view, if that is not there. */
function showWorst() {
  const worst = scene.worst(0);
  if (worst !== null && scene.risk(worst) < BY_RISK.length && !drawing.sees(scene.area(worst))) drawing.focus(scene.area(worst));
}
function foldAll(folded) { rest = null; scene.foldAll(folded); scene.arrange(); beginAgain(); if (!folded) showWorst(); syncControls(); say(folded ? "All modules are folded." : "All modules are open."); }
/** Unfold one more level of modules. */
function unfoldMore() {
  const isMore = scene.unfoldLevel();
  rest = null;
  if (isMore) { scene.arrange(); beginAgain(); syncControls(); }
  say(scene.foldedBoxes().length ? "One more level is unfolded. Unfold again for the next one." : "All modules are open.");
}
let isReduced = scene.onlyChanged; // whether only changes are wanted, in all graphs
/** Show another graph, with what is folded as it is in this one. */
/** `isFollowing`: whether the selection in the address of the page is made again. */
function chooseView(n, isFollowing = true) {
  if (!scenes.has(n)) scenes.set(n, new Scene(data.views[n]));
  const { visible, implied: shown } = scene, folded = new Map(scene.boxes.map((box, b) => [box.name, scene.folded[b]]));
  scene = scenes.get(n);
  Object.assign(scene, { visible, implied: shown, onlyChanged: isReduced && scene.boxes.length > 0 && scene.boxes[0].changed > 0 });
  scene.boxes.forEach((box, b) => { if (b) scene.folded[b] = folded.get(box.name) ?? folded.get(box.name.replace(INSTANCE_KEYS, "")) ?? scene.folded[b]; });
  scene.arrange();
  start = null;
  hideBanner();
  drawing.show(scene);
  group = null; actionFilter = null;
  fillPanes(); syncChips();
  if (isFollowing) follow();
  say(`${scene.view.title}.`);
}

// ---------------------------------------------------------------- a notice above the drawing, and how to take its step back

let undo = null; // what its button and Escape do
let left = null; // the graph from which a choice led to this one
function showBanner(text, label, action) {
  undo = action;
  $("banner").replaceChildren(el("span", {}, text), button(label, takeBack));
  $("banner").hidden = false;
  say(text);
}
function hideBanner() { undo = null; left = null; $("banner").hidden = true; }
function takeBack() { const action = undo; hideBanner(); action(); }

// ---------------------------------------------------------------- links to what is chosen

let current = null, isNoted = false; // the name of what is chosen, and whether the address has what is going to be shown
/** Record what is chosen in the address, as an entry of the history with the name of what was chosen before. */
function note(chosen, name, edges = []) {
  scene.chosenEdges = [...edges, ...drawing.marked && drawing.marked.edges.size <= 1000 ? drawing.marked.edges : []];
  syncLines();
  const words = `#${new URLSearchParams(scene === scenes.get(0) ? chosen : { graph: scene.view.name, ...chosen })}`;
  if (words !== location.hash) history.pushState({ from: current }, "", words);
  current = name; isNoted = true;
}
/** The line that is drawn between two things, in either direction, where one of them is a box; undefined for none. */
function lineBetween(one, other) {
  if (one === null || other === null || one >= 0 && other >= 0) return undefined;
  remember();
  scene.reveal([one, other], foldedAtRest());
  return [...scene.lines].find(e => { const ends = scene.ends(e); return ends.includes(one) && ends.includes(other); });
}
/** Choose what the address names; `isBack`: after a step in the history. */
function follow(isBack = false) {
  if (isBack && !location.hash) { clearMarks(); return; }
  const words = new URLSearchParams(location.hash.slice(1)), named = data.views.findIndex(view => view.name === words.get("graph")), n = isBack && named < 0 ? 0 : named;
  if (n >= 0 && scene.view !== data.views[n]) { rest = null; chooseView(n, false); }
  const [node, other] = ["node", "to"].map(word => words.has(word) ? scene.find(words.get(word)) ?? scene.find(`${words.get(word)} (expand)`) : null), line = lineBetween(node, other);
  if (node !== null && node >= 0 && other !== null && other >= 0) {
    const edge = scene.out[node].find(e => scene.to[e] === other);
    if (edge !== undefined) { remember(); scene.reveal([node, other], foldedAtRest()); chooseEdge(edge); } else showPath(node, other);
  } else if (line !== undefined) chooseLine(line);
  else if (words.has("blast") && scene.find(words.get("blast")) >= 0 && scene.find(words.get("blast")) !== null) showBlast(scene.find(words.get("blast")), words.get("of"));
  else if (node !== null) { scene.reveal([], foldedAtRest()); choose(node); }
  else if (words.has("node")) say(`The plan has no "${words.get("node")}".`);
  else if (words.has("action") && (chips().some(([key]) => key === words.get("action")) || [...causeKinds().values()].some(({ title }) => `${IN_FILE}${fileOf(title)}` === words.get("action")))) { actionFilter = null; chooseAction(words.get("action")); }
  else if (words.has("cause") && data.changes.some(change => change[3].some(cause => [cause, kindOfCause(cause)].includes(words.get("cause"))))) { group = null; chooseGroup(words.get("cause")); }
}
addEventListener("popstate", () => follow(true)); // also when the address is edited

// ---------------------------------------------------------------- the drawing by keys and pointer

/** The next thing from the chosen one: along the edges, against their flow or with it, or a neighbour beside it. Where no
 * edge leads on, into an open group, to the next row of a grid, or out to the group around. */
function step(dx, dy) {
  if (drawing.chosen === null || !scene.where.has(drawing.chosen)) { if (scene.order.length) choose(scene.order[0][0]); return; }
  const chosen = drawing.chosen, { band, at, isDown } = scene.where.get(chosen);
  const along = isDown ? dy : dx, beside = isDown ? dx : dy;
  if (beside) {
    const next = scene.order[band][at + beside];
    if (next === undefined) say("Nothing else in this direction."); else choose(next);
    return;
  }
  const things = new Set();
  for (const [a, b] of [...scene.lines].flatMap(e => [scene.ends(e), ...scene.bundle(e).map(one => [scene.stands[scene.from[one]], scene.stands[scene.to[one]]])])) {
    if (along < 0 && a === chosen) things.add(b); else if (along > 0 && b === chosen) things.add(a);
  }
  const [x, y] = scene.area(chosen), far = thing => Math.hypot(scene.area(thing)[0] - x, scene.area(thing)[1] - y);
  const near = [...things].sort((a, b) => far(a) - far(b));
  const row = scene.nextRow(chosen, along), group = scene.box(chosen), inside = scene.isOpen(chosen) ? scene.contents(-1 - chosen) : [];
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
  else if (event.key === "0") drawing.showWhole();
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", event => {
  const isTyping = event.target.matches("input[type=search], input[type=text], select");
  if (event.key === "/" && !isTyping) { event.preventDefault(); $("search").focus(); }
  else if (event.key === "?" && !isTyping) { event.preventDefault(); const menu = $("help").parentElement; closeMenus(menu); menu.open = true; menu.firstElementChild.focus(); }
  else if (event.key === "Escape" && document.querySelector(".menu[open]")) { const [menu] = document.querySelectorAll(".menu[open]"); closeMenus(null); menu.firstElementChild.focus(); }
  else if (event.key === "Escape" && undo) takeBack();
  else if (event.key === "Escape") { if (!isTyping) { clearMarks(); return; } if (event.target === $("search")) clearSearch(); canvas.focus(); }
});
const closeMenus = but => { for (const menu of document.querySelectorAll(".menu[open]")) if (menu !== but) menu.open = false; };
document.addEventListener("click", event => closeMenus(event.target.closest(".menu")));
const TWICE = 350; // milliseconds up to which a second click in the same place belongs to the first
const POINTED = 400; // lines up to which the pointer shows that one can be chosen
let held = null, clicked = { x: 0, y: 0, at: -TWICE };
/** The numbers of causes that something contains, and of those of which it is an effect, in words. */
const numbersInWords = ([own, effects]) => [...(own ? [`cause ${own}`] : []), ...(effects ? [`effect of cause ${effects}`] : [])];
/** Name the thing below the pointer, whose label may be cut. */
function point(event) {
  const place = drawing.point(event), thing = scene.at(...place), line = thing === null && scene.lines.length <= POINTED ? drawing.lineAt(...place) : null;
  canvas.style.cursor = thing === null && line === null ? "" : "pointer";
  canvas.title = Array.isArray(line) ? `${scene.shown(line[1])} causes the change of ${scene.title(line[0])}` : thing === null ? "" : thing >= 0 ? [scene.shown(thing), scene.part(thing), doneWith(thing), ...numbersInWords(scene.numbersOf(thing, Infinity))].filter(text => text).join(", ") : [nameOfBox(scene.boxes[-1 - thing]), ...numbersInWords(scene.numbersInside(-1 - thing, Infinity))].join(", ");
}
canvas.addEventListener("pointerdown", event => {
  const place = onMap(drawing, drawing.inWindow(event));
  held = { x: event.clientX, y: event.clientY, moved: place !== null, isOnMap: place !== null };
  canvas.setPointerCapture(event.pointerId);
  if (place) drawing.centre(place);
});
canvas.addEventListener("pointermove", event => {
  if (!held) { point(event); return; }
  if (held.isOnMap) { const place = onMap(drawing, drawing.inWindow(event)); if (place) drawing.centre(place); return; }
  const dx = event.clientX - held.x, dy = event.clientY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(held, { x: event.clientX, y: event.clientY, moved: true });
  drawing.move(dx, dy);
});
canvas.addEventListener("pointerup", event => {
  const was = held;
  held = null;
  if (!was || was.moved) return;
  const isSecond = event.timeStamp - clicked.at < TWICE && Math.hypot(event.clientX - clicked.x, event.clientY - clicked.y) < 6; // of a double click: another thing may be there by now
  clicked = isSecond ? clicked : { x: event.clientX, y: event.clientY, at: event.timeStamp };
  if (isSecond) return;
  const [x, y] = drawing.point(event), thing = scene.at(x, y);
  if (thing !== null) { if (thing < 0) toggle(-1 - thing); else choose(thing, { look: false }); return; }
  const line = drawing.lineAt(x, y);
  if (Array.isArray(line)) choose(line[0] >= 0 ? line[0] : line[1], { look: false }); // the reasons are those of what is set off
  else if (line !== null) chooseLine(line); else if (drawing.marked || drawing.chosen !== null) clearMarks();
});
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  drawing.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

$("changed").addEventListener("change", () => {
  rest = null;
  isReduced = scene.onlyChanged = $("changed").checked; scene.open(); beginAgain(); fillList(); syncControls();
  say(scene.onlyChanged ? "Only changes are shown." : scene.view.name === "apply" ? "Values and unchanged objects of this graph are shown, too. The graph \u201cConfiguration\u201d has all of them." : "Unchanged objects are shown, too.");
});
$("view").addEventListener("change", () => { rest = null; hideBanner(); chooseView(+$("view").value); });
$("in").addEventListener("click", () => drawing.zoom(1.4));
$("out").addEventListener("click", () => drawing.zoom(1 / 1.4));
$("fit").addEventListener("click", () => drawing.showWhole());
$("fold").addEventListener("click", () => foldAll(true));
$("unfold").addEventListener("click", event => { if (event.shiftKey) foldAll(false); else unfoldMore(); });

follow();
