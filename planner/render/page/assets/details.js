// The pane on the right: the causes and policies of a plan, and the reasons of what is chosen.
"use strict";
const HOPS = 9; // hops of a chain up to which all are shown at once
const OPENED = 12; // the number of nodes of a cause up to which the boxes around them are opened
const FEW = 5; // things that only come first or later up to which they are listed at once
const FORCES = "# forces replacement";
const MOST_DIFFERENCE = 60; // lines of a difference that are shown at once

function fill(...children) {
  const panel = $("details"), wasInside = panel.contains(document.activeElement);
  panel.replaceChildren(...children.flat().filter(child => child));
  panel.scrollTop = 0;
  if (wasInside) panel.focus(); // what had the focus is gone
}
/** Show details of something, with the way back to the overview. */
function details(...children) {
  document.body.classList.add("chosen");
  const [from, back] = isNoted ? [history.state?.from, () => history.back()] : [current, () => follow(true)], up = group === null ? "Overview" : `Cause ${chosenCause()?.number || ""}`.trim(), hasFrom = from && from !== up;
  isNoted = false;
  fill(el("p", { class: "crumb" }, hasFrom ? button(`\u2039 ${from}`, back, { title: "back to the former choice" }) : null, hasFrom ? " " : null, button(`${hasFrom ? "" : "\u2039 "}${up}`, goBack)), ...children);
}
function goBack() {
  if (group === null) { clearMarks(); return; }
  const name = group;
  group = null;
  chooseGroup(name);
}

// ---------------------------------------------------------------- the overview

/** Verdicts of policies, causes with their changes, and how the graph was made smaller. */
function showOverview() {
  document.body.classList.remove("chosen");
  const all = [...causeKinds()], kinds = actionFilter === null ? all : all.filter(([, found]) => isOfFilterCause(found)), changes = noun !== "node" || data.changes.some(change => change[1] !== "no-op" || formerOf(change));
  fill(
    ...dataParts(),
    data.verdicts.length ? el("section", { "aria-labelledby": "verdicttitle" }, el("h2", { id: "verdicttitle" }, "Policies"), el("ul", { id: "verdicts", class: "plain" }, ...verdictItems(data.verdicts))) : null,
    ...renameParts(),
    kinds.length ? el("section", { "aria-labelledby": "grouptitle" }, el("h2", { id: "grouptitle" }, kinds.length < all.length ? `Causes (${kinds.length} of ${all.length}, of what is chosen above)` : "Causes", kinds.length > 1 ? el("span", { class: "why" }, " most objects destroyed or replaced first") : null), fileParts(kinds), some(el("ul", { id: "groups", class: "plain" }), kinds, causeItem, 12)) : null,
    data.idle?.length && actionFilter === null ? el("section", { "aria-labelledby": "idletitle" }, el("h3", { id: "idletitle" }, `Edits that are not a cause of any change (${data.idle.length})`), some(el("ul", { class: "plain" }), data.idle, ([name, where]) => el("li", {}, ...breakable(name), " ", el("span", { class: "why" }, where)), 6)) : null,
    data.moved_blocks?.length && (actionFilter === null || actionFilter === "moved") ? el("section", { "aria-labelledby": "movedtitle" }, el("h3", { id: "movedtitle" }, `Moved blocks (${data.moved_blocks.length})`), some(el("ul", { class: "plain" }), data.moved_blocks, movedBlockItem, 6)) : null,
    changes || scene.view.name === "none" ? null : el("p", {}, "No changes. The objects match the configuration."),
    scene.count ? el("p", { class: "why" }, `Select ${noun !== "node" ? `a ${noun}` : kinds.length ? "a cause, an object" : "an object"} or an arrow for details.`) : null,
    scene.view.is_reduced ? el("p", { class: "why" }, "Arrows that follow from others are left out, because there are very many.") : null,
    scene.hidesImplied ? el("p", { class: "why" }, "Arrows that follow from others are left out. To see them: Arrows, implied by others.") : null,
    noun === "node" && scene.view.name === "apply" && !scene.onlyChanged && data.views.length > 1 ? el("p", { class: "why" }, "This graph does not have all unchanged objects. The graph \u201cConfiguration\u201d has all of them.") : null,
    scene.hasManyLinks ? el("p", { class: "why" }, "Arrows from causes to their effects are left out, because there are very many. The numbers at the objects name their causes; select a cause to see its arrows.") : null,
    scene.hasUnaffected() ? el("p", { class: "why" }, "A cause has arrows only to the objects that it changes. Arrows to others that read it are drawn if one of the two is selected.") : null,
    scene.isWithoutShared ? el("p", { class: "why" }, "Arrows between instances of a module that read no value of each other are left out. To see them: Arrows, module.") : null,
    scene.drawnWays.size >= DRAWN_WAYS ? el("p", { class: "why" }, "Some arrows through objects that do not change are left out, because there are very many.") : null);
  syncCauses();
}
const FILE = /^(\S+) was edited\b|\((?:[a-z ]+, )?([^\s():,]+):\d+[^()]*\)$/; // in the title of a cause
/** The file in which a cause is written; undefined if its title has none. */
const fileOf = title => (FILE.exec(title) || []).slice(1).find(text => text);
/** The files in which causes are written, each with their number, as searches for them. */
function fileParts(kinds) {
  const files = byKey(kinds.map(([, { title }]) => fileOf(title)).filter(file => file), file => file);
  if (files.size < 2) return null;
  const find = file => chooseAction(`${IN_FILE}${file}`);
  return el("p", { class: "why" }, "In ", ...[...files].sort(([, one], [, other]) => other.length - one.length).flatMap(([file, { length }], n) => [n ? ", " : "", button(file, () => find(file), { class: "name", title: "List and mark everything that its causes change" }), ` (${length})`]));
}
/** The destroyed and replaced objects that hold data, and those of which this is not known. */
function dataParts() {
  const losing = data.changes.filter(losesData), unknown = (data.unknown_data || []).map(n => data.changes[n]);
  if (noun !== "node" || !data.changes.some(([, action]) => /replace|delete/.test(colourOf.get(action)))) return [];
  const item = (change, short = change[0]) => { const made = changeItem(change, short), remark = entryOf(data.renamed, change); if (remark) made.append(el("div", { class: "why" }, `${remark}: a moved block may keep it`)); return made; };
  const list = changes => some(el("ul", { class: "plain" }), changes, item, 6, ([name]) => name);
  return [el("section", { "aria-label": "Data" },
    losing.length ? el("h2", { class: "deny" }, `Data is lost: ${several(losing.length, "object")}`) : null,
    losing.length ? list(losing) : unknown.length ? null : el("p", {}, el("strong", {}, "Data: "), "the destroyed and replaced objects hold none, by their types."),
    unknown.length ? el("h2", {}, `Not known whether data is lost: ${several(unknown.length, "object")}`) : null, unknown.length ? list(unknown) : null,
    unknown.length ? el("p", { class: "why" }, "The policy protect_stateful does not list their types; its parameters stateful_type and stateless_type can.") : null)];
}
/** A moved block with the objects that it moves. */
function movedBlockItem([where, numbers]) {
  const changes = numbers.map(n => data.changes[n]), line = change => el("li", {}, changeButton(change[0]), movedMark(change));
  return changes.length === 1 ? el("li", {}, changeButton(changes[0][0]), movedMark(changes[0]), el("div", { class: "why" }, where)) : foldedItem(`${where}: ${several(changes.length, "object")}`, list => some(list, changes, line, 12));
}
/** What looks renamed, each with the moved block that keeps its objects. */
function renameParts() {
  const count = (data.moves || []).reduce((all, [, , own]) => all + own, 0), perhaps = data.changes.filter(change => colourOf.get(change[1]) === "create" && entryOf(data.renamed, change)?.startsWith("may "));
  if (!data.advice && !perhaps.length) return [];
  const item = ([from, to, count]) => el("li", {}, ...breakable(`${from} looks renamed to ${to}: ${several(count, "object")} ${count === 1 ? "is" : "are"} alike.`), el("pre", {}, `moved {\n  from = ${from}\n  to   = ${to}\n}`));
  const title = [count ? `Objects look renamed (${count})` : data.advice ? "Objects look renamed" : "", perhaps.length ? `${data.advice ? "others" : "Objects"} may have been renamed (${perhaps.length})` : ""].filter(text => text).join("; ");
  return [el("details", { class: "advice" }, el("summary", {}, title), ...(data.moves?.length ? [some(el("ul", { class: "plain" }), data.moves, item, 3)] : breakable(data.advice)),
    perhaps.length ? el("h3", {}, `May have been renamed (${perhaps.length})`) : null, perhaps.length ? some(el("ul", { class: "plain" }), perhaps, change => el("li", {}, changeButton(change[0]), el("div", { class: "why" }, entryOf(data.renamed, change))), 6) : null,
    el("p", {}, "A moved block may still update or replace objects. To see what each of them keeps, and to write them: planner suggest"))];
}
/** Verdicts as items of a list, with the objects of each below it. `sign`: text before each. */
function verdictItems(verdicts, sign = "") {
  const objects = new Map(); // by verdict
  for (const [kind, code, address, message] of verdicts) { const key = JSON.stringify([kind, code, message]); objects.set(key, [...(objects.get(key) || []), address]); }
  return [...objects].map(([key, addresses]) => {
    const [kind, code, message] = JSON.parse(key), item = (address, short) => el("li", {}, changeButton(address, short));
    return el("li", {}, sign, el("strong", { class: kind }, kind), ` ${code}: ${message}`, some(el("ul", { class: "plain" }), addresses, item, 5, address => address));
  });
}
const verdictLine = ([kind, code, address, message]) => el("p", {}, el("strong", { class: kind }, kind), ` ${code}: ${address} ${message}`);

// ---------------------------------------------------------------- a node

const extras = []; // what others add to the details of a node
const arrows = text => text.replaceAll(" -> ", " \u2192 ");
function heading(name) {
  const module = moduleOf(name);
  const made = el("span", {}, module ? el("span", { class: "module" }, ...breakable(module)) : null, ...breakable(name.slice(module.length)));
  return el("div", { class: "heading" }, el("h2", {}, made), button("Copy", () => copy(name, made), { class: "small", "aria-label": "Copy the name" }));
}
function showNode(node) {
  const place = scene.placeOf(node), facts = scene.view.nodes.facts[node] || [], part = scene.part(node), instance = scene.changes(node).length > 1 && scene.changes(node).some(([address]) => address === asked) ? asked : null;
  details(
    heading(scene.shown(node)),
    kindOf(node) === "object" && !part ? null : el("p", { class: "why" }, `${kindOf(node)}${part ? `, ${part}` : ""}`),
    scene.isCalm(node) ? el("p", {}, chip("no-op")) : null,
    ...facts.map(([word, value]) => el("p", {}, el("strong", {}, `${word}: `), value)),
    ...(scene.action[node] ? [...changeParts(node), ...causeParts(node)] : [...causeParts(node), ...changeParts(node)]),
    ...extras.flatMap(extra => extra(node)),
    place ? el("h3", {}, "Declared") : null, ...(place ? declarationParts(place) : []),
    el("p", {},
      button("What depends on it", () => showBlast(node, instance)), " ",
      button("Path to another\u2026", () => beginPath(node)),
    ),
    ...neighbourParts(node, true), ...neighbourParts(node, false),
  );
}
function chip(action) {
  const made = el("span", { class: "chip" }, wordsOf.has(action) ? named(action) : "no change");
  made.style.background = fillOf(colourOf.get(action) || "none");
  return made;
}
const MEANT = { "-/+": "destroyed first, then created again", "+/-": "the new object is created first, then the old object is destroyed" };
const MOST_CAUSES = 1e6; // more than there are
/** The chains of causes of a change, the gravest first, each with its cause; null if that is not in the list of causes. */
function causeChains(change) {
  const [, , , causes, texts] = change;
  const lines = texts.map(at => data.strings[at]), chains = withoutParts(chainsOf(lines.filter(line => causes.length < 2 || !line.startsWith("  more causes: "))));
  const found = chains.map(chain => [chain, causes.find(cause => cause === chain.at(-1).trim()) ?? causes.find(cause => partsOf(new Set([cause])).some(([what]) => what === rootOf(chain))) ?? (causes.length === 1 && chain.length > 1 ? causes[0] : null)]);
  const isBeside = ([, cause]) => cause !== null && !isForced(change, one => one === cause), place = ([, cause]) => (cause !== null && causeKinds().get(kindOfCause(cause))?.number) || MOST_CAUSES;
  return found.sort((a, b) => isBeside(a) - isBeside(b) || place(a) - place(b)); // as in the list of causes
}
function changeParts(node) {
  const all = [...scene.view.nodes.changes[node] || []].sort((a, b) => rank(data.changes[a][1]) - rank(data.changes[b][1])), own = all.filter(n => data.changes[n][0] === asked);
  const numbers = (own.length ? own : all).slice(0, 50), more = own.length && all.length > 1 ? [el("p", {}, button(`All ${several(all.length, "instance")}`, () => choose(node)))] : [];
  return [...numbers.flatMap(n => {
    const [address, action, reason, causes, texts] = data.changes[n], meant = MEANT[signOf.get(action)], chains = causeChains(data.changes[n]);
    return [
      numbers.length > 1 || address !== scene.shown(node) ? el("h3", {}, address) : null,
      el("p", {}, chip(action), meant ? ` ${meant}` : ""), ...(meant && numbers.length === 1 ? stepParts(node) : []),
      formerOf(data.changes[n]) ? el("p", {}, el("strong", {}, "Moved from: "), ...breakable(formerOf(data.changes[n])), placeOfMove(data.changes[n]) ? el("span", { class: "place" }, ` (moved block, ${placeOfMove(data.changes[n])})`) : "") : null,
      entryOf(data.holds_data, data.changes[n]) ? el("p", {}, el("strong", { class: "deny" }, entryOf(data.holds_data, data.changes[n]))) : null,
      data.shifted?.[n] ? el("p", { class: "cause" }, ...breakable(`${data.shifted[n]} To see how to keep the objects: planner suggest`)) : null,
      data.renamed?.[n] ? el("p", { class: "cause" }, ...breakable(`It ${data.renamed[n]}. To see what a moved block keeps: planner suggest`)) : null,
      causes.length || texts.length ? el("h3", {}, "Why") : null,
      reason ? el("p", {}, `${reason[0].toUpperCase()}${reason.slice(1)}.`) : null,
      ...causes.filter(cause => !cause.startsWith(`${address}: `) && !chains.some(([, own]) => own === cause)).slice(0, 8).map(cause => el("p", { class: "cause" }, "Cause: ", causeButton(cause, cause))),
      ...chains.map(([chain, cause], at) => at ? el("details", { class: "alike", ...(chains.flatMap(([own]) => own).length <= HOPS ? { open: "" } : {}) }, el("summary", {}, ...causeNumberOf(cause), `Another cause: ${arrows(chain.at(-1).trim())}`), hopList(chain, cause)) : hopList(chain, cause)),
      textOf(n, address),
      ...data.verdicts.filter(v => v[2] === address).map(verdictLine),
    ];
  }), ...more];
}
/** The number of a cause, if it has one, as a list. */
const causeNumberOf = cause => { const found = cause === null ? null : causeKinds().get(kindOfCause(cause)); return found?.number ? [numberSign(found), " "] : []; };
/** The two steps of a replacement, and the changes that come between them; nothing if none does. */
function stepParts(node) {
  const [one, other] = [node, ...scene.halves(node)];
  if (other === undefined || scene.isOld(one) === scene.isOld(other)) return [];
  const [old, made] = scene.isOld(one) ? [one, other] : [other, one], [first, second] = scene.reaching(made, true).has(old) ? [old, made] : [made, old], after = scene.reaching(first, false);
  const between = [...scene.reaching(second, true)].filter(at => at !== second && at !== first && scene.action[at] && !scene.isInternal(at) && after.has(at)), changes = [...new Set(between.flatMap(at => scene.changes(at)))].filter(change => signOf.has(change[1]));
  const near = (half, isOut) => scene.nearestChanged(half, isOut).filter(at => at !== first && at !== second && !between.includes(at)), earlier = near(first, true), later = near(second, false);
  if (!changes.length && !earlier.length && !later.length) return [];
  const step = half => el("li", {}, half === old ? "The old object is destroyed." : "The new object is created.");
  const others = (title, nodes) => nodes.length ? el("li", {}, title, some(el("ul", { class: "plain" }), nodes, (node, short = scene.shown(node)) => el("li", {}, ...signsOf(node), nodeButton(node, short), scene.part(node) ? el("span", { class: "why" }, ` ${scene.part(node)}`) : null), 6, node => scene.shown(node))) : null;
  return [el("h3", {}, "Order"), el("ol", {}, others("Before:", earlier), step(first), changes.length ? el("li", {}, `${countOf(changes)} in between:`, some(el("ul", { class: "plain" }), changes, changeItem, 6, ([name]) => name)) : null, step(second), others("After:", later))];
}
/** The chains of causes in the lines of a change: each begins with a line `because:`. */
function chainsOf(lines) {
  const chains = [[]];
  for (const line of lines) if (line.trim() === "because:") chains.push([]); else if (line.trim()) chains.at(-1).push(line);
  return chains.filter(chain => chain.length);
}
const ROOT = /^[^\s"[]+(?:\[(?:"(?:\\.|[^"\\])*"|\d+)\]|\.[\w-]+)*/;
/** The name of the value or object at the end of a chain. */
const rootOf = chain => ROOT.exec(chain.at(-1).trim())?.[0] || "";
/** Chains without those that end in a part of the end of another. */
const withoutParts = chains => chains.filter((chain, n) => !chains.some((other, m) => m !== n && rootOf(other) && rootOf(chain) !== rootOf(other) && rootOf(chain).startsWith(rootOf(other)) && /^[.[]/.test(rootOf(chain).slice(rootOf(other).length))));
const causeButton = (text, cause) => button(arrows(text), () => { group = null; chooseGroup(cause); }, { class: "name", title: "Show everything that this cause changes" });
const HOP_PLACE = / (\([^()]*:\d+[^()]*\))$/;
/** A chain of causes: a hop a line, from the change back to its root, a module once above its hops. The root leads to its cause. */
function hopList(lines, cause) {
  const hops = lines;
  let last = "";
  const item = (line, n) => {
    const text = line.trim(), place = HOP_PLACE.exec(text), module = moduleOf(text), isRoot = n === hops.length - 1;
    const own = (place ? text.slice(0, -place[0].length) : text).slice(module.length), isNew = module !== last;
    last = module;
    return el("li", { class: isRoot ? "root" : "" }, isNew && module ? el("div", { class: "module" }, module.slice(0, -1)) : null,
      el("div", { class: "hop" }, el("span", {}, ...(isRoot && cause !== null ? [causeButton(own, cause)] : breakable(arrows(own))), place ? el("span", { class: "place" }, ` ${place[1]}`) : "")));
  };
  const list = el("ol", { class: "hops" }), items = hops.map(item);
  if (hops.length <= HOPS) { list.append(...items); return list; }
  const middle = items.slice(3, -3), more = el("li", {}, button(`Show ${several(middle.length, "more step")}`, () => { more.replaceWith(...middle); list.tabIndex = -1; list.focus(); }));
  list.append(...items.slice(0, 3), more, ...items.slice(-3));
  return list;
}
/** What a change does, as a plan shows it; where there are very many, as soon as they are unpacked. */
function textOf(change, address) {
  const shown = el("div", { hidden: "" });
  withUnpacked("texts", texts => {
    if (!texts[change]) return;
    const lines = texts[change].split("\n").filter(line => !line.startsWith(`  # ${address} `));
    const own = lines.length > MOST_DIFFERENCE + FEW ? MOST_DIFFERENCE : lines.length, rest = lines.slice(own);
    shown.replaceChildren(noun === "node" ? el("h3", {}, "Difference") : "", el("pre", { class: "diff" }, ...lines.slice(0, own).map(diffLine)),
      rest.length ? el("details", { class: "alike" }, el("summary", {}, several(rest.length, "more line")), el("pre", { class: "diff" }, ...rest.map(diffLine))) : "");
    shown.hidden = false;
  });
  return shown;
}
const DIFF_SIGNS = { "+": "create", "-": "delete", "~": "update", "-/+": "replace", "+/-": "replace" };
/** A line of a difference, whose continuation is indented as the line is. */
function diffLine(line) {
  const text = line.replace(/^ {2}/, "").replace(/ +(=|->) /g, " $1 "), indent = text.length - text.trimStart().length;
  const [before, after] = text.includes(FORCES) ? text.split(FORCES) : [text];
  const made = el("div", { class: DIFF_SIGNS[text.trimStart().split(" ")[0]] || "" }, before, after === undefined ? "" : el("strong", { class: "deny" }, FORCES), after || "");
  made.style.paddingLeft = `${indent + 2}ch`;
  made.style.textIndent = `-${indent + 2}ch`;
  return made;
}
/** Call a function with the texts of a kind (`texts` or `blocks`), as soon as they are unpacked. */
function withUnpacked(kind, show) {
  if (typeof data[kind] === "string") unpack(data[kind]).then(texts => { data[kind] = texts; show(texts); }); else show(data[kind]);
}
/** Texts that came compressed. */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// ---------------------------------------------------------------- boxes, edges and paths

function showBox(b) {
  const box = scene.boxes[b];
  const inner = scene.contents(b).filter(thing => thing < 0 || scene.action[thing] && !scene.isOld(thing)).sort((one, other) => scene.risk(one) - scene.risk(other) || NUMERIC.compare(scene.title(one), scene.title(other)));
  const item = thing => {
    if (thing >= 0) return el("li", {}, ...signsOf(thing), nodeButton(thing, scene.shown(thing).replace(MODULE, "")));
    return el("li", {}, button(scene.boxLabel(-1 - thing), () => choose(thing), { class: "name" }), " ", ...(noun === "node" && scene.boxes[-1 - thing].tally.size ? [...scene.boxes[-1 - thing].tally].map(([action, number]) => signOfAction(action, number)) : [boxCount(scene.boxes[-1 - thing])]));
  };
  details(el("h2", {}, nameOfBox(box)), el("p", {}, `A ${boxNoun(box)}: ${boxCount(box)}.`), ...markedParts(b),
    ...data.actions.filter(([action]) => box.tally.has(action)).sort(([a], [b]) => rank(a) - rank(b)).map(([action]) => el("p", {}, signOfAction(action), `${wordsOf.get(action)}: ${box.tally.get(action)}`)),
    scene.isEmpty(b) ? el("p", { class: "why" }, "This graph has no other parts of it.") : el("p", {}, button(scene.folded[b] ? "Unfold" : "Fold", () => toggle(b))),
    inner.length ? some(el("ul", { class: "plain" }), inner, item, 30) : null);
}
/** While a cause or an action is chosen: what of it is in a box, and a button to count everything again. */
function markedParts(b) {
  if (!drawing.marked?.isCounted || group === null && actionFilter === null) return [];
  const found = chosenCause(), what = found ? ["changes with the cause ", numberSign(found)] : ["changes of the kind selected above"];
  const all = button("Count everything", () => { group = actionFilter = null; fillList(); syncChips(); choose(-1 - b, { look: false }); }, { class: "small" });
  return [el("p", { class: "why" }, "The graph counts only ", ...what, `: ${several(drawing.marked.boxes.get(b) || 0, "object")} in here. `, all)];
}
/** The number of objects in a box, and how many of them change; its outputs apart. */
function boxCount(box) {
  if (noun !== "node") return several(box.size, noun);
  if (scene.view.name === "apply" && !box.isGroup) return `${box.distinct.size ? `${several(box.distinct.size, "object")} that ${box.distinct.size === 1 ? "changes" : "change"}` : "no object in it changes"}${box.outputs ? `; ${several(box.outputs, "output")}` : ""}`; // others are not in this graph
  const all = box.objects.size + box.calm, changed = box.distinct.size, outputs = box.outputs ? `; ${several(box.outputs, "output")}` : "";
  if (!all && box.isGroup && box.outputs + box.values) return box.outputs ? several(box.outputs, "output") : several(box.values, "value");
  const changing = !changed ? all === 1 ? "which does not change" : "none changes" : changed < all ? `${changed} of which ${changed === 1 ? "changes" : "change"}` : all === 1 ? "which changes" : "all of which change";
  return `${all ? `${several(all, "object")}, ${changing}` : "no objects"}${outputs}`;
}
const BLOCK = 12; // lines of a declaration up to which it is shown at once
/** The text of a declaration, folded where it is long. */
function declarationParts([where, line]) {
  const shown = el("div", {}, el("pre", {}, line));
  withUnpacked("blocks", blocks => {
    const text = blocks?.[where], lines = text ? text.split("\n").length : 0;
    if (text) shown.replaceChildren(lines <= BLOCK ? el("pre", {}, text) : el("details", { class: "alike" }, el("summary", {}, `${line} \u2026 (${/\n\.\.\. \((\d+) lines\)$/.exec(text)?.[1] ?? lines} lines)`), el("pre", {}, text)));
  });
  return [el("div", {}, el("code", {}, where)), shown];
}
function placeLines(places) {
  return places.map(([where, line]) => where ? el("div", {}, el("code", {}, where), el("pre", {}, line)) : el("p", { class: "why" }, line));
}
function reasonLines(edge) {
  return scene.reasons(edge).map(({ rule, reason, places }) =>
    el("div", { class: "why" }, reason, ...placeLines(places), el("details", { class: "alike rule" }, el("summary", {}, "Rule"), el("code", {}, rule))));
}
/** What a node waits for, or what waits for it: first where a value is read, then, to be unfolded, what only comes first or later, and what is not drawn. */
function neighbourParts(node, isOut) {
  const found = neighbours(node, isOut), { shared, others, more } = found, { drawn, number } = counted(found);
  const mine = new Set(scene.changes(node).flatMap(change => change[3])), isRead = ([edge]) => noun === "node" && scene.isReference(edge), isModule = other => scene.kind(other) === "module_close", isValue = pair => isOut && isRead(pair) && (isModule(pair[1]) || VALUE.test(scene.shown(pair[1]).replace(MODULE, "")));
  const certain = isOut || noun !== "node" ? null : scene.exactReaders([node, ...scene.halves(node)]), isCertain = ([, other]) => noun !== "node" || (certain ? certain.has(other) : scene.exactReaders([other]).has(node));
  const all = [...drawn.filter(isRead), ...more], sure = new Set(all.filter(isCertain)), reads = [...sure], whole = all.filter(pair => !sure.has(pair)), isFar = reads.some(([edge]) => edge === null || scene.wayOf(edge)) ? ", also through hidden objects" : "", ordered = [...drawn.filter(pair => !isRead(pair)), ...shared], values = [...byKey(others.filter(isValue), ([, other]) => scene.shown(other)).values()].map(([first]) => first), hidden = others.filter(pair => !isValue(pair));
  const halfOf = edge => { if (edge === null) return null; const own = isOut ? scene.from[edge] : scene.to[edge]; return own === node ? null : el("span", { class: "why" }, scene.isOld(own) ? " for the old object" : " for the new object"); };
  const item = ([edge, other], short) => el("li", {}, ...signsOf(other), ...(scene.action[other] ? [] : causesAt(other).filter(([, found]) => !mine.size || [...found.causes].some(cause => mine.has(cause))).map(([, found]) => numberSign(found))), " ", nodeButton(other, short), causeValues(other), isValue([edge, other]) && isModule(other) ? el("span", { class: "why" }, " (its outputs)") : scene.part(other) ? el("span", { class: "why" }, ` ${scene.part(other)}`) : null, halfOf(edge), " ",
    button("why", () => edge === null ? showPath(...isOut ? [node, other] : [other, node]) : chooseEdge(edge), { class: "small", "aria-label": isOut ? `why it waits for ${scene.shown(other)}` : `why ${scene.shown(other)} waits for it` }));
  const list = pairs => some(el("ul", { class: "plain" }), pairs, item, 30, ([, other]) => scene.shown(other));
  const folded = (title, fill, isOpen = false) => {
    const inside = el("div", {}), made = el("details", { class: "alike", ontoggle: () => { if (!inside.firstChild) inside.append(...fill()); } }, el("summary", {}, title), inside);
    made.open = isOpen;
    return made;
  };
  const byReason = () => [...byKey(ordered, ([edge]) => orderOf(edge, isOut))].flatMap(([reason, pairs]) => [reason ? el("p", { class: "why" }, pairs.length > 1 ? reason : orderOf(pairs[0][0], isOut, true)) : null, list(pairs)]).filter(part => part);
  if (!number && !others.length) return [];
  const cut = scene.own?.cut[isOut] || 0, title = isOut ? "It waits for" : "These wait for it", isApart = noun === "node";
  return [el("h3", {}, cut ? `${title} (${number} of ${number + cut}; the others are not listed)` : `${title} (${number})`),
    reads.length ? el("h4", {}, `${isOut ? "It reads" : "They read it"} (${cut ? `the first ${reads.length}` : reads.length})${isFar}`) : null,
    reads.length && scene.view.is_reduced ? el("p", { class: "why" }, isOut ? "It may also read values of these dependencies directly." : "Objects that read these may also read it directly. \u201cWhat depends on it\u201d lists all of them.") : null, reads.length ? allInstancesNote(reads.map(([, other]) => isOut ? [node, other] : [other, node])) : null, reads.length ? list(reads) : null,
    whole.length ? folded(isOut ? `It reads modules that contain these (${whole.length})` : `They read a module that contains it (${whole.length})`, () => [el("p", { class: "why" }, "They refer to the module as a whole, so they may read other values of it."), list(whole)]) : null,
    values.length ? el("h4", {}, `Values that it reads (${values.length})`) : null, values.length ? list(values) : null,
    !ordered.length ? null : isApart ? folded(`Only the order: ${ordered.length} ${isOut ? "before it" : "after it"}`, byReason, !reads.length && !values.length || ordered.length <= FEW) : list(ordered),
    hidden.length ? folded(`Not drawn (${hidden.length})`, () => [list(hidden)]) : null];
}
/** The edge of a line, or of the way that it leads, that only orders; the line's first one if all read values. */
const orderEdge = edge => { const way = scene.wayOf(edge) || [edge]; const ordering = way.filter(e => scene.layerNames(e)[0] === "order"); return ordering.find(e => !scene.isOwnStep(e)) ?? ordering[0] ?? way.find(e => !scene.isReference(e) && !scene.isOwnStep(e)) ?? way.find(e => !scene.isReference(e)) ?? way[0]; };
/** Why something comes first, or later, in a sentence about all alike things. */
function orderOf(edge, isOut, isAlone = false) {
  const step = orderEdge(edge), number = [scene.view.edges.grounds[step]].flat()[0], isFar = isOut ? scene.to[step] === scene.to[edge] : scene.from[step] === scene.from[edge];
  if (scene.isReference(step)) return "The values of a module are computed for all of its instances together. No value is read between these.";
  return number === undefined ? "" : orderSentence(scene.text(data.grounds[number][1]), step, isOut, isAlone || !isFar);
}
function orderSentence(form, edge, isOut, isAlone) {
  const a = scene.from[edge], b = scene.to[edge], named = (name, isOwn) => isOwn || isAlone ? name : "each";
  const names = { "\x01": named(scene.nameBeside(a, b), isOut), "\x02": named(scene.nameBeside(b, a), !isOut), "\x03": named(scene.aboutBeside(a, b), isOut), "\x04": named(scene.aboutBeside(b, a), !isOut) };
  const text = form.replace(VERTEX, "").replace(/[\x01-\x04]/g, mark => names[mark]);
  return `${text.replace(/^(each|the|its|all|no|an?)\b/, word => word[0].toUpperCase() + word.slice(1))}.`;
}
/** The former and the present value of a node that is a cause, if they are short. */
function causeValues(node) {
  const [, before, after, , , elements] = scene.causing.has(node) && scene.ownCause(node) || [];
  if (elements && elements.length <= SHORT_VALUE) return el("code", { class: "place" }, ` ${elements}`);
  return before && after && before !== after && before.length + after.length <= SHORT_VALUE ? el("code", { class: "place" }, ` ${written(before, false)} \u2192 ${written(after, false)}`) : null;
}
/** Nodes that are no objects, to be unfolded. */
function internals(all, item, nameOf) {
  const list = el("ul", { class: "plain" }), fill = () => { if (!list.firstChild) some(list, all, item, 30, nameOf); };
  return all.length ? el("details", { class: "alike", ontoggle: fill }, el("summary", {}, `Internals (${all.length}): variables, local values, modules, providers`), list) : null;
}
/** The dependencies that a line of the drawing stands for. */
function showLine(edge, edges) {
  const name = thing => thing >= 0 ? scene.shown(thing) : nameOfBox(scene.boxes[-1 - thing]), [one, other] = scene.ends(edge).map(name), text = `${scene.mutual.has(edge) ? `${one} and ${other} wait for each other` : `${one} waits for ${other}`}: ${several(edges.length, "dependency", "dependencies")}`;
  details(el("h2", {}, "Order"), el("p", {}, `${text}.`), ...dependencyParts(edges, scene.ends(edge)));
  say(text);
}
/** A button for a node, with which part of its object it is. */
const withPart = node => [nodeButton(node), scene.part(node) ? el("span", { class: "why" }, ` ${scene.part(node)}`) : ""];
function showEdge(edge) {
  const from = scene.from[edge], to = scene.to[edge], others = scene.bundle(edge).filter(e => e !== edge);
  details(el("h2", {}, "Order"), el("p", {}, ...withPart(from), " waits for ", ...withPart(to)),
    el("p", { class: "why" }, scene.layerNames(edge).map(name => `${LINE_WORDS[name] || name}: ${meaning(name)}`).join(" ")),
    ...reasonLines(edge), proofCommand(from, to),
    others.length ? el("h3", {}, `This line also stands for ${several(others.length, "more dependency", "more dependencies")}`) : null,
    ...dependencyParts(others, scene.ends(edge)));
}
const meaning = name => data.layers.find(([layer]) => layer === name)[1];
function proofCommand(from, to) {
  if (!data.asks) return null;
  const word = text => /^[\w.\/:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  const kind = noun === "node" ? ` -type=${scene.view.name}` : "";
  return el("p", { class: "why" }, "The complete proof, in a terminal: ", el("code", {}, `${data.asks}${kind} ${word(scene.name(from))} ${word(scene.name(to))}`));
}
/** What is among nodes, each once: changes, unchanged objects by name with one of their nodes, and what is no object. */
function thingsOf(nodes, graph = scene) {
  const changes = new Set(), calm = new Map(), inner = new Map();
  for (const n of nodes) {
    const own = graph.changes(n), isInner = noun === "node" && (graph.isInternal(n) || /^(root_variable|module_variable|local)$/.test(graph.kind(n)) || graph.isOutput(n) && !own.length && moduleOf(graph.shown(n)));
    if (isInner) inner.set(`${graph.shown(n)} ${graph.part(n)}`, n);
    else if (own.length) for (const change of own) if (signOf.has(change[1])) changes.add(change); else calm.set(change[0], n);
    else calm.set(graph.shown(n), n);
  }
  for (const [address] of changes) calm.delete(address);
  return { changes, calm, inner: [...inner.values()] };
}
/** Numbers of things: `3 objects and 1 output change, 2 objects do not`. */
function thingsText({ changes, calm }) {
  const same = countOf([...calm.keys()].map(name => [name]));
  const verb = (those, one, many) => those === 1 ? one : many;
  if (!changes.size) return calm.size ? `${same}, ${verb(calm.size, "which does", "which do")} not change` : `no ${noun === "node" ? "object" : noun}`;
  return `${countOf(changes)} that ${verb(changes.size, "changes", "change")}${calm.size ? `, ${same} that ${verb(calm.size, "does", "do")} not` : ""}`;
}
const declaredGraphs = new WeakMap(); // by view
/** What reads the resource of a destroyed object as the configuration declares it, without its own objects; null if it is not declared. */
function declaredReaders(node) {
  const view = data.views.find(({ name }) => name === "plan");
  if (!view) return null;
  if (!declaredGraphs.has(view)) declaredGraphs.set(view, new Graph(view));
  const graph = declaredGraphs.get(view), resource = graph.find(`${bare(scene.shown(node))} (expand)`);
  if (resource === null || resource < 0) return null;
  return thingsOf([...graph.readersOf([resource])].filter(other => other !== resource), graph);
}
/** Of a destroyed object, which nothing reads after the plan: what reads its resource as it is declared. */
function formerParts(readers) {
  if (!readers) return [el("p", {}, "Its resource is not declared any more, so nothing in the configuration refers to it.")];
  const text = thingsText(readers);
  return [el("h3", {}, "Readers of its resource, as declared"), el("p", {}, `${text[0].toUpperCase()}${text.slice(1)}.`), ...byAction(readers.changes, 20)];
}
/** What depends on a node; with `instance` on one of the instances that the node has. */
function showBlast(node, instance = null) {
  remember();
  still(node, () => scene.reveal([node], scene.where.has(node) ? null : foldedAtRest())); // as if it had been chosen before, also from a link
  syncControls();
  const { reads: all, waits } = scene.blast(node), reads = noun === "node" ? scene.exactReaders([node, ...scene.halves(node)]) : all, own = instance ?? scene.shown(node), isApart = other => !reads.has(other) && scene.shown(other) !== scene.shown(node);
  const isGone = noun === "node" && scene.view.name === "apply" && scene.isDestroyed(node) && !scene.halves(node).length, through = isGone ? new Set() : changesThrough(node, instance), beside = new Set(causesAt(node).flatMap(([, found]) => [...found.beside])), whole = thingsOf([...all].filter(isApart)), rest = [...reads].filter(other => scene.shown(other) !== scene.shown(node)), later = [...waits].filter(other => scene.shown(other) !== scene.shown(node) && !scene.isInternal(other));
  const edges = new Set(scene.lines.filter(e => reads.has(scene.to[e]) && reads.has(scene.from[e]))), things = thingsOf(rest);
  for (const change of through) whole.changes.delete(change);
  const others = [...things.changes].filter(change => !through.has(change)), drawn = [...through].map(([address]) => scene.nodeOf.get(address)).filter(other => other !== undefined);
  const former = isGone ? declaredReaders(node) : null, users = former ? [...former.changes].map(([address]) => scene.nodeOf.get(address)).filter(other => other !== undefined) : [];
  const text = isGone ? `after this plan nothing reads it${former ? `; as declared, its resource is read by ${thingsText(former)}` : ""}.` : through.size ? `${countOf(through)} ${through.size === 1 ? "changes" : "change"} because of it.` : `${thingsText(things)}${(instance || scene.action[node]) && things.changes.size ? "; none of their causes leads through it" : ""}.`;
  drawing.chosen = standIn(node); drawing.marked = { ...marks([node, ...(through.size ? drawn : rest), ...users], edges, new Set([...(through.size ? through : things.changes), ...former?.changes || []].map(([address]) => address))), ...(scene.causing.has(node) && !scene.action[node] ? { sources: [node] } : {}) };
  drawing.redraw();
  note({ blast: scene.name(node), ...(instance ? { of: instance } : {}) }, "What depends on it");
  say(`What depends on ${own}: ${text}`);
  const item = (n, short) => el("li", {}, ...signsOf(n), nodeButton(n, short), scene.part(n) ? el("span", { class: "why" }, ` ${scene.part(n)}`) : null);
  details(el("h2", {}, "What depends on ", instance ? changeButton(instance) : nodeButton(node)), instance ? el("p", {}, `This graph has one node for all instances of ${scene.shown(node)}, so the readers may read other instances.`) : null, el("p", {}, isGone ? "After this plan nothing reads it." : `${text[0].toUpperCase()}${text.slice(1)}`), ...(isGone ? formerParts(former) : []),
    ...byAction(through, 20, beside),
    !through.size ? null : others.length ? el("details", { class: "alike" }, el("summary", {}, `${countOf(others)} more that ${others.length === 1 ? "changes depends on it, but has" : "change depend on it, but have"} other causes`), ...byAction(others, 20)) : null,
    ...(through.size ? [] : byAction(things.changes, 20)),
    things.calm.size ? el("section", { class: "byaction" }, el("h4", {}, `no change (${things.calm.size})`), some(el("ul", { class: "plain" }), [...things.calm], ([name, n], short = name) => el("li", {}, button(short, () => choose(n), { class: "name", "aria-label": name })), 20, ([name]) => name)) : null,
    scene.view.name === "apply" && data.views.some(({ name }) => name === "plan") ? el("p", { class: "why" }, "This graph does not have all unchanged objects. The graph \u201cConfiguration\u201d has all of them.") : null,
    whole.changes.size + whole.calm.size ? el("details", { class: "alike" }, el("summary", {}, `${thingsText(whole)}: they read a module that contains it`), el("p", { class: "why" }, "They refer to the module as a whole, so they may read other values of it."), ...byAction(whole.changes, 20)) : null,
    internals(things.inner, item, n => scene.shown(n)), onlyWaiting(later, item));
}
const ANY_KEYS = /\[[^\]]*\]/g, SEVERAL_KEYS = /\[[^\]]*(?:, |\.\.)[^\]]*\]/;
/** Whether a line of a chain is about a node or a value of it; several instances may be in one line. */
function isAbout(line, name) {
  const text = line.trimStart(), isWhole = (whole, own) => whole.startsWith(own) && !/^[\w-]/.test(whole.slice(own.length));
  if (isWhole(text, name)) return true;
  if (!SEVERAL_KEYS.test(text) || !isWhole(text.replace(ANY_KEYS, ""), name.replace(ANY_KEYS, ""))) return false;
  const known = text.match(ANY_KEYS);
  return (name.match(ANY_KEYS) || []).every((key, n) => known[n] && (known[n].includes(key.slice(1, -1)) || /\.\.| more/.test(known[n])));
}
/** The changes whose chains of causes lead through a node: to a cause in it, or to a value of it. */
function changesThrough(node, instance = null) {
  const name = instance ?? scene.shown(node), groups = new Set(name.match(INSTANCE_KEYS) ? [] : scene.causes(node)), known = new Map(); // an edit also changes other instances; many changes have the same lines
  const own = new Set(data.changes.filter(change => change[3].some(cause => groups.has(cause))));
  const leads = at => { if (!known.has(at)) known.set(at, isAbout(data.strings[at], name)); return known.get(at); };
  for (const change of data.changes) if (signOf.has(change[1]) && change[4].some(leads)) own.add(change);
  return new Set([...own].filter(([address]) => bare(address) !== bare(name))); // without other instances of its resource
}
/** Nodes that come later without reading a value, to be unfolded. */
function onlyWaiting(nodes, item) {
  const list = el("ul", { class: "plain" }), fill = () => { if (!list.firstChild) some(list, nodes, item, 30, n => scene.shown(n)); };
  const steps = `${several(nodes.length, "more step")} ${nodes.length === 1 ? "follows" : "follow"}`;
  return nodes.length ? el("details", { class: "alike", ontoggle: fill }, el("summary", {}, `Only the order: ${steps} it without reading its value`), list) : null;
}
/** Wait for the other end of a path. */
function beginPath(node) {
  start = node;
  showBanner(`Path from ${scene.shown(node)}: click the other end, or type its name and press Enter.`, "Cancel", () => { start = null; say("The search for a path is cancelled."); });
  $("search").value = "";
  fillList();
  $("search").focus();
}
/** Show the path from its beginning to a node of another graph. */
function pathIn(number, node) {
  const name = scene.shown(start);
  start = null;
  chooseView(number, false);
  const from = scene.find(name) ?? scene.find(`${bare(name)} (expand)`);
  if (from !== null && from >= 0) showPath(from, node); else { choose(node); say(`${name} is not in this graph, so it has no path.`); }
}
/** The shortest path between two objects, also from or to the old object of a replacement: {edges, ends}. */
function pathOfObjects(from, to) {
  const direct = scene.path(from, to);
  if (direct) return { edges: direct, ends: [from, to] };
  let best = { edges: null, ends: null };
  for (const one of [from, ...scene.halves(from)]) for (const other of [to, ...scene.halves(to)]) {
    const edges = one === other ? null : scene.path(one, other);
    if (edges && (!best.edges || edges.length < best.edges.length)) best = { edges, ends: [one, other] };
  }
  return best;
}
function showPath(from, to) {
  if (start !== null) hideBanner();
  let { edges, ends } = pathOfObjects(from, to), turned = "";
  const reverse = pathOfObjects(to, from), asked = [from, to];
  if (edges) [from, to] = ends;
  else if (reverse.edges) { edges = reverse.edges; turned = `${scene.shown(from)} does not wait for ${scene.shown(to)}, but: `; [from, to] = reverse.ends; }
  const both = edges && !turned && reverse.edges ? el("p", {}, "The other way, too: ", ...withPart(reverse.ends[0]), " waits for ", ...withPart(reverse.ends[1]), ". ", button("Show this path", () => showPath(asked[1], asked[0]), { class: "small" })) : null;
  start = null;
  const effectsOf = (cause, node) => { const causes = new Set(scene.causes(cause)); return scene.changes(node).flatMap(causeChains).filter(([, of]) => causes.has(of)); };
  if (!edges) {
    const [cause, node] = effectsOf(to, from).length ? [to, from] : [from, to], effects = effectsOf(cause, node);
    say(effects.length ? `Neither waits for the other, but ${scene.shown(cause)} changes ${scene.shown(node)}.` : "There is no path between the two.");
    details(el("h2", {}, "Path"), el("p", {}, "Neither waits for the other: ", ...withPart(from), ", ", ...withPart(to), "."),
      ...(effects.length ? [el("p", {}, `But ${scene.shown(cause)} is a cause of the change of ${scene.shown(node)}:`), ...effects.map(([chain, of]) => hopList(chain, of))] : []));
    return;
  }
  const nodes = [from, ...edges.map(e => scene.to[e])], effects = effectsOf(to, from);
  remember();
  still(from, () => scene.reveal(nodes, nodes.every(node => scene.where.has(node)) ? null : foldedAtRest()));
  syncControls();
  drawing.marked = marks(nodes, new Set(edges));
  drawing.chosen = from;
  note({ node: scene.name(from), to: scene.name(to) }, "Path", edges);
  drawing.bring(scene.around(nodes), COARSE);
  say(`${turned}${scene.shown(from)} waits for ${scene.shown(to)}, in ${several(edges.length, "step")}.`);
  const steps = edges.flatMap(e => [el("h3", {}, ...withPart(scene.from[e]), " waits for ", ...withPart(scene.to[e])), ...reasonLines(e)]);
  const direct = edges.length > 1 && !turned && scene.sources[from].includes(to) ? [el("p", {}, ...withPart(from), " reads ", ...withPart(to), " directly. This graph leaves the arrow out, because others imply it."), proofCommand(from, to)] : [];
  if (direct.length) say(`${scene.shown(from)} reads ${scene.shown(to)} directly.`);
  details(el("h2", {}, "Path"), ...direct, both, effects.length ? el("p", {}, `How ${scene.shown(to)} changes ${scene.shown(from)}:`) : null, ...effects.map(([chain, cause]) => hopList(chain, cause)),
    ...(effects.length ? [el("details", { class: "alike" }, el("summary", {}, `A shortest way through the arrows of this graph: ${several(edges.length, "step")}`), ...steps)] : [el("p", {}, turned, ...withPart(from), " waits for ", ...withPart(to), `, in ${several(edges.length, "step")}:`), ...steps]));
}
