// Causes: the order of their list, their values before and after, and what each of them sets off.
"use strict";
const SOURCE = / \([^()]*:\d+(?:, was line \d+)?\)$/;
/** A cause without its module and place: edits that only differ in these are listed as one. */
const kindOfCause = cause => cause.replace(SOURCE, "").replace(MODULE, "").replace(CALL, "modules were $1");
const CALL = /^module\.\S+ was (added|removed)$/;
const KEYS_NAMED = 4; // keys up to which a cause names those that were added or removed
const NAMED = 3; // modules up to which a cause names those that were added or removed
let listed = { data: null, kinds: null };
/** The causes of changes that are listed as one, by their kind, with a title: in the order and with the numbers of the commands, if the page has these; otherwise first those with the most dangerous effects. */
function causeKinds() {
  if (listed.data !== data) listed = { data, kinds: kindsOfCauses() };
  return listed.kinds;
}
function kindsOfCauses() {
  const kinds = new Map();
  for (const change of data.changes) for (const cause of change[3]) {
    const kind = kindOfCause(cause), found = kinds.get(kind) || kinds.set(kind, { causes: new Set(), changes: new Set(), beside: new Set() }).get(kind);
    found.causes.add(cause); found.changes.add(change);
  }
  const effect = found => {
    const tally = new Array(BY_RISK.length + 2).fill(0);
    for (const change of found.changes) tally[isOutput(change) ? BY_RISK.length + 1 : rank(change[1])]++;
    return tally;
  };
  const ranked = [...kinds].map(([kind, found]) => ({ kind, found, effect: effect(found) }));
  const worst = ({ effect }) => effect.findIndex(number => number);
  const order = new Map((data.causes || []).map(([group], at) => [group, at])), numbers = new Map((data.causes || []).map(([group, , number]) => [group, number]));
  const first = ({ found }) => Math.min(...[...found.causes].map(cause => order.get(cause) ?? Infinity));
  ranked.sort((a, b) => first(a) - first(b) || worst(a) - worst(b) || b.effect.reduce((all, number, at) => all || number - a.effect[at], 0));
  ranked.forEach(({ kind, found }, at) => {
    const own = [...found.causes].map(cause => numbers.get(cause)).filter(number => number);
    found.number = order.size ? (own.length ? Math.min(...own) : 0) : at + 1;
    found.title = causeTitle(kind, found.causes);
    found.counterpart = counterpartOf([...found.causes].map(cause => order.get(cause)), numbers);
    for (const change of found.changes) if (!isForced(change, cause => found.causes.has(cause))) found.beside.add(change);
  });
  return new Map(ranked.map(({ kind, found }) => [kind, found]));
}
/** In words, the cause whose objects look renamed from or to those of these causes; "" if there is none. */
function counterpartOf(own, numbers) {
  const [other, count] = own.map(at => data.counterparts?.[at]).find(known => known) || [], number = other === undefined ? 0 : numbers.get(data.causes[other][0]);
  return number ? `${several(count, "object")} ${count === 1 ? "looks" : "look"} renamed: see cause ${number}` : "";
}
let updated = { data: null, by: null };
/** Whether some of these causes set off all of a change, not only an update of an object that is replaced for other causes. */
function isForced(change, isOf) {
  if (updated.data !== data) updated = { data, by: new Map((data.causes || []).map(([group, , , numbers]) => [group, new Set(numbers.map(n => data.changes[n]))])) };
  return change[3].some(cause => isOf(cause) && !updated.by.get(cause)?.has(change));
}
/** The cause that is chosen; undefined if none is. */
const chosenCause = () => group === null ? undefined : [...causeKinds()].find(([kind, { causes }]) => kind === group || causes.has(group))?.[1];
const SHOWN_NUMBERS = 3;
/** The numbers of causes in the list: `1,3\u20135`. */
function causeNumbers(causes, most = SHOWN_NUMBERS) {
  const numbers = [...new Set(causes.map(cause => causeKinds().get(kindOfCause(cause))?.number).filter(number => number))].sort((a, b) => a - b);
  const runs = []; // numbers that follow each other
  for (const number of numbers) if (runs.at(-1)?.at(-1) === number - 1) runs.at(-1).push(number); else runs.push([number]);
  const texts = runs.flatMap(run => run.length > 2 ? [`${run[0]}\u2013${run.at(-1)}`] : run);
  return texts.slice(0, most).join(",") + (texts.length > most ? "\u2026" : "");
}
function causeTitle(kind, causes) {
  const [first] = causes, calls = kind.startsWith("modules were ") ? [...causes].map(cause => cause.split(" was ")[0]).sort(NUMERIC.compare) : [];
  if (calls.length > 1) return calls.length > NAMED ? `${calls.length} ${kind}` : `${calls.slice(0, -1).join(", ")} and ${calls.at(-1)}${kind.slice("modules".length)}`;
  const places = new Set([...causes].map(cause => SOURCE.exec(cause)?.[0] || ""));
  return causes.size === 1 ? first : `${kind}${places.size === 1 ? [...places][0] : ""} in ${several(new Set([...causes].map(cause => MODULE.exec(cause)?.[0])).size, "module")}`;
}
/** The causes that a node contains, each as [kind, {number, title, changes...}]. */
function causesAt(node) {
  const own = new Set((scene.view.nodes.causes?.[node] || []).map(number => kindOfCause(data.causes[number][0])));
  return [...causeKinds()].filter(([kind]) => own.has(kind));
}
/** The values and declarations that contain causes of some kinds. */
function nodesOfCauses(isOf) {
  const kinds = new Set([...causeKinds()].filter(([, found]) => isOf(found)).map(([kind]) => kind));
  return Object.entries(scene.view.nodes.causes || {}).filter(([node, numbers]) => !scene.isInternal(+node) && !scene.action[+node] && numbers.some(number => kinds.has(kindOfCause(data.causes[number][0])))).map(([node]) => +node);
}
const numberSign = ({ number, title }) => !number ? "" : el("span", { class: "number", title: `cause ${number}: ${arrows(title)}` }, number);
/** The changed inputs of causes: [name, former value, value, where, line of text]. */
function partsOf(causes) {
  return (data.causes || []).filter(([group]) => causes.has(group)).flatMap(([, parts]) => parts);
}

// ---------------------------------------------------------------- values before and after

const SHORT_VALUE = 60, MOST_LINES = 300, AROUND = 3; // characters of a value in a line; lines that are compared; unchanged lines around a difference
const LONG_NUMBER = /\d{16}/, IDENTIFIER = /^[A-Za-z_][\w-]*$/; // a number that JavaScript may round
/** JSON as the configuration has it, with a line for each element or on one line; other texts are unchanged. */
function written(text, isSpread) {
  const end = pad => isSpread ? `\n${pad}` : " ";
  const shown = (value, pad) => {
    const inner = isSpread ? `${pad}  ` : pad;
    if (Array.isArray(value)) return !value.length ? "[]" : isSpread ? `[${value.map(one => `${end(inner)}${shown(one, inner)},`).join("")}${end(pad)}]` : `[${value.map(one => shown(one, inner)).join(", ")}]`;
    if (typeof value === "string") return JSON.stringify(value).replace(/[$%]\{/g, found => found[0] + found);
    if (value === null || typeof value !== "object") return String(value);
    const items = Object.entries(value).map(([key, one]) => `${IDENTIFIER.test(key) ? key : JSON.stringify(key)} = ${shown(one, inner)}`);
    return items.length ? `{${items.map(item => `${end(inner)}${item}`).join(isSpread ? "" : ",")}${end(pad)}}` : "{}";
  };
  if (!/^[[{]/.test(text)) return text;
  try { if (!LONG_NUMBER.test(text)) return shown(JSON.parse(text), ""); } catch { /* only its beginning */ }
  return text.replace(/"((?:\\.|[^"\\])*)"(:?)|[{},]/g, (found, name, colon) => colon ? `${IDENTIFIER.test(name) ? name : `"${name}"`} = ` : { "{": "{ ", "}": " }", ",": ", " }[found] || found);
}
const spread = text => written(text, true);
/** The part that has the values of all; null if none does. */
const wholeOf = ([part, ...others]) => part && others.every(([name]) => name.startsWith(part[0]) && /^[.[]/.test(name.slice(part[0].length))) ? part : null;
/** The values of an input before and after. */
function valueParts(before, after) {
  if (!before && !after) return [];
  if (before === after) return [el("p", { class: "why" }, `changed; its value is not shown: ${before}`)];
  const value = text => text.length <= SHORT_VALUE && !text.includes("\n") ? el("code", {}, written(text, false)) : el("pre", {}, spread(text));
  if (after === "nothing") return [el("p", {}, before ? "removed; it was " : "removed", before ? value(before) : null)];
  if (before === "nothing") return [el("p", {}, after ? "added: " : "added", after ? value(after) : null)];
  if (!before || !after) return [el("p", {}, before ? "it was " : "it is now ", value(before || after))];
  if (before.length + after.length <= SHORT_VALUE) return [el("p", {}, el("code", {}, written(before, false)), " \u2192 ", el("code", {}, written(after, false)))];
  return [el("pre", { class: "diff" }, ...differenceLines(spread(before).split("\n"), spread(after).split("\n")).map(([sign, line]) => el("div", { class: { "+": "create", "-": "delete" }[sign] || "" }, `${sign} ${line}`)))];
}
/** The lines of two texts, each with its sign; long parts that are alike are left out. */
function differenceLines(one, other) {
  if (one.length > MOST_LINES || other.length > MOST_LINES) return [...one.map(line => ["-", line]), ...other.map(line => ["+", line])];
  const common = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let a = one.length - 1; a >= 0; a--) for (let b = other.length - 1; b >= 0; b--)
    common[a][b] = one[a] === other[b] ? common[a + 1][b + 1] + 1 : Math.max(common[a + 1][b], common[a][b + 1]);
  const lines = [];
  for (let a = 0, b = 0; a < one.length || b < other.length;) {
    if (a < one.length && b < other.length && one[a] === other[b]) { lines.push([" ", one[a]]); a++; b++; }
    else if (a < one.length && (b === other.length || common[a + 1][b] >= common[a][b + 1])) lines.push(["-", one[a++]]);
    else lines.push(["+", other[b++]]);
  }
  const isNear = at => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(([sign]) => sign !== " ");
  return lines.flatMap((line, at) => isNear(at) ? [line] : isNear(at - 1) ? [[" ", "\u2026"]] : []);
}
/** One name for alike ones: `[*]` instead of the keys in which these differ. */
function sharedName(names) {
  const keys = names.map(name => name.match(INSTANCE_KEYS) || []);
  let at = -1;
  return names[0].replace(INSTANCE_KEYS, key => { at++; return keys.every(own => own[at] === key) ? key : "[*]"; });
}
/** Inputs with their values and places. `name`: of the thing that is shown, which is not repeated. */
function inputParts(all, name) {
  const whole = all.filter(([, before, after]) => before && after).map(([what]) => what), isInside = what => whole.some(other => what !== other && what.startsWith(other) && /^[.[]/.test(what.slice(other.length)));
  const alike = byKey(all.filter(([what]) => !isInside(what)), ([what, ...rest]) => JSON.stringify([what.replace(INSTANCE_KEYS, "[*]"), ...rest])); // the values of the whole have those of its parts
  const parts = [...alike.values()].map(([[what, ...rest], ...others]) => [others.length ? `${sharedName([what, ...others.map(([other]) => other)])} (${others.length + 1} instances)` : what, ...rest]);
  const isLast = (part, next) => !next || next[3] !== part[3]; // a place that several have is shown once
  const item = part => {
    const [what, before, after, where, line, elements] = part, hasPlace = where && isLast(part, parts[parts.indexOf(part) + 1]);
    return el("div", { class: "input" }, what === name ? null : el("p", { class: "inputname" }, ...breakable(what)),
      ...(elements ? [el("p", {}, elements)] : valueParts(before, after)), hasPlace ? el("p", { class: "why" }, after === "nothing" ? "removed from the value that begins at " : elements ? "in the value that begins at " : "written in ", el("code", {}, where)) : null, hasPlace && line ? el("pre", {}, line) : null);
  };
  return parts.length ? [some(el("div", {}), parts, item, 6)] : [];
}
/** In the details of a value or an object: the causes in it, with their values and everything that they set off. */
function causeParts(node) {
  const name = scene.shown(node), isOf = what => what === name || /^[.[]/.test(what.slice(name.length)) && what.startsWith(name);
  const all = causesAt(node);
  return all.flatMap(([kind, found]) => {
    const parts = partsOf(found.causes), own = parts.filter(([what]) => isOf(what.replace(INSTANCE_KEYS, "")) || isOf(what));
    return [
      el("p", { class: "iscause" }, numberSign(found), " This is a cause of changes."),
      ...inputParts(own.length ? own : parts, name),
      el("h3", {}, `${name.match(INSTANCE_KEYS) && found.changes.size > 1 ? "The edit causes changes, in all instances" : found.changes.size > 1 ? "It causes changes" : "It causes one change"}: ${countOf(found.changes)}`),
      ...byAction(found.changes, 12, found.beside),
      all.length < 2 && !scene.action[node] ? null : el("p", {}, button("Mark these in the graph", () => { group = null; chooseGroup(found.causes.size === 1 ? found.title : kind); })),
    ];
  });
}

// ---------------------------------------------------------------- the list of causes

/** The keys that a cause adds or removes, in words: `"blog" removed, "docs" added`; "" if it is something else, or its name has the only key. */
function keysOf(causes) {
  const parts = partsOf(causes), words = { nothing: "removed" }, texts = parts.map(([what, before, after]) => [KEY.exec(what)?.[0].slice(1, -1), before === "nothing" ? "added" : words[after]]);
  if (parts.length < 2 || texts.some(([key, word]) => !key || !word)) return "";
  const each = [...new Set(texts.map(text => text.join(" ")))]; // once, also where many modules have them
  return [...each.slice(0, KEYS_NAMED), ...(each.length > KEYS_NAMED ? [`${each.length - KEYS_NAMED} more`] : [])].join(", ");
}
function causeItem([kind, { number, causes, changes, title, beside, counterpart }]) {
  const name = causes.size === 1 ? title : kind, place = SOURCE.exec(title)?.[0] || "";
  const [whole, before, after] = wholeOf(partsOf(causes)) || [], hasValues = before && after && before !== after && before.length + after.length <= SHORT_VALUE;
  const named = place ? title.slice(0, -place.length) : title, text = named === whole && hasValues ? `${named} ${written(before, false)} -> ${written(after, false)}` : named, keys = / (added|removed)\b/.test(named) ? "" : keysOf(causes), list = el("div", { hidden: "" });
  const open = button("", () => chooseGroup(name), { "data-group": name, "aria-expanded": "false" });
  open.append(noun === "node" ? numberSign({ number, title }) : "", el("span", {}, el("span", { class: "causename" }, ...breakable(arrows(text.replace(/^because of /, ""))), keys ? `: ${keys}` : ""), " ",
    el("span", { class: "count" }, `${[changes.size > beside.size ? countOf([...changes].filter(change => !beside.has(change))) : "", place.slice(2, -1)].filter(text => text).join(" \u00b7 ")} `, ...signsOfChanges(changes, beside), beside.size ? ` also updates ${beside.size} that other causes replace` : "", counterpart ? ` ${counterpart}` : "")));
  list.ofCause = () => {
    if (list.firstChild) return;
    const parts = partsOf(causes), node = nodeOfCause(causes);
    list.append(...(node === null ? [] : [descriptionOf(node)]), ...inputParts(parts, parts.length === 1 ? parts[0][0] : ""),
      ...hopParts(causes), ...(node === null ? [] : [el("p", {}, button(`Details of ${scene.shown(node)}`, () => choose(node), { class: "name" }))]), ...byAction(changes, 12, beside));
  };
  return el("li", {}, open, list);
}
const HOPS_SHOWN = 8; // steps from a cause to its changes up to which all are shown at once
/** The steps from causes to their changes, each below the one before it. */
function hopParts(causes) {
  const hops = (data.causes || []).filter(([group]) => causes.has(group)).flatMap(([, , , , own]) => own || []), line = text => {
    const made = el("div", {}, ...breakable(arrows(text.trim().replace(/^-> /, "\u2192 "))));
    made.style.marginLeft = `${(text.length - text.trimStart().length) * 0.4}em`;
    return made;
  };
  return hops.length ? [el("details", { class: "alike", ...(hops.length <= HOPS_SHOWN ? { open: "" } : {}) }, el("summary", {}, `How it reaches its changes: ${several(hops.length, "step")}`), el("div", { class: "ways" }, ...hops.map(line)))] : [];
}
const DESCRIPTION = /^\s*description\s*=\s*"((?:\\.|[^"\\])*)"/m;
/** The description in the declaration of a variable or an output. */
function descriptionOf(node) {
  const made = el("p", { hidden: "" }), place = scene.placeOf(node);
  withUnpacked("blocks", blocks => {
    const [, text] = DESCRIPTION.exec(place && blocks[place[0]] || "") || [];
    if (text) { made.textContent = text.replace(/\\(.)/g, "$1"); made.hidden = false; }
  });
  return made;
}
/** The node that contains a cause, if the graph has it. */
function nodeOfCause(causes) {
  for (const [node, numbers] of Object.entries(scene.view.nodes.causes || {}))
    if (!scene.isInternal(+node) && numbers.some(number => causes.has(data.causes[number][0]))) return +node;
  return null;
}
const changeItem = (change, short = change[0]) => el("li", {}, signOfAction(change[1]), changeButton(change[0], short), dataMark(change));
/** The list of changes below the chosen cause. */
function syncCauses() {
  for (const one of document.querySelectorAll("#groups > li > [data-group]")) {
    const isOpen = one.dataset.group === group, list = one.nextElementSibling;
    one.setAttribute("aria-expanded", String(isOpen));
    list.hidden = !isOpen;
    if (isOpen) { list.ofCause(); one.scrollIntoView({ block: list.getBoundingClientRect().bottom > $("details").getBoundingClientRect().bottom ? "start" : "nearest" }); } // with its list
  }
}
