// The plan as Markdown that fits into a comment: causes first, then what is destroyed, then the rest, alike objects in one row.
"use strict";
const MOST_MARKDOWN = 60000; // characters: a comment on a pull request holds 65536
const OF_CAUSES = 12000, OF_POLICIES = 8000; // characters of these sections
const MARKDOWN_VALUE = 200; // characters of a value or a message
const IDLE_NAMED = 20; // edits without effect that are named
const NAMED_MODULES = 3; // modules up to which a row names them

/** Text that Markdown shows as it is. */
const literal = text => text.replace(/[\\`*_{}[\]<>#|!~@&]|:(?=\/\/|[a-z][\w+-]*:)/g, "\\$&").replace(/\s+/g, " "); // a colon only in addresses and names of pictures
const clipped = text => literal(text.length > MARKDOWN_VALUE ? `${text.slice(0, MARKDOWN_VALUE)}\u2026` : text);
const valueText = text => text === "nothing" ? "*none*" : clipped(text);
const row = cells => `| ${cells.join(" | ")} |`;

/** Lines as long as there is room for them, then the number of those left out. `rows`: [line, number of things]. */
function inRoom(rows, room, things) {
  const lines = [];
  let left = rows.reduce((all, [, number]) => all + number, 0);
  for (const [line, number] of rows) {
    room -= line.length + 1;
    if (room < 0) break;
    lines.push(line);
    left -= number;
  }
  return left ? [...lines, "", `${several(left, `more ${things}`)} ${left === 1 ? "is" : "are"} left out here, because there is no room.`] : lines;
}
/** Each cause with its values, its place, and the numbers of what it sets off. */
function causeRows() {
  return [...causeKinds()].map(([, { number, causes, changes, title, beside }]) => {
    const whole = wholeOf(partsOf(causes)), place = SOURCE.exec(title)?.[0] || "";
    const keys = keysOf(causes), [name, before, after, where, , elements] = whole?.some((text, at) => at && text) ? whole : [title.slice(0, title.length - place.length), "", "", place.slice(2, -1)];
    const objects = byKey([...changes].filter(change => !isOutput(change) && !beside.has(change)), change => change[1]), outputs = [...changes].filter(isOutput).length;
    const tally = [...byRisk().filter(([action]) => objects.has(action)).map(([action]) => `${signOf.get(action)} ${objects.get(action).length}`.trim()), ...(beside.size ? [`also updates ${several(beside.size, "object")}, which other causes replace`] : []), ...(outputs ? [several(outputs, "output")] : [])];
    return [row([number || "", clipped(keys || elements ? `${name}: ${keys || elements}` : name), valueText(before), valueText(after), literal(where), literal(tally.join(", "))]), 1];
  });
}
/** Why something is done: the reason, unless a cause has it, and the numbers and names of causes. */
function whyText(change) {
  const [address, , reason, causes] = change;
  const kinds = new Map(causes.map(cause => [kindOfCause(cause), cause]));
  const named = [...kinds].map(([kind, cause]) => {
    const { number, beside } = causeKinds().get(kind), parts = partsOf(new Set([cause])), own = cause.startsWith(`${address}: `) ? cause.slice(address.length + 2) : cause.replace(SOURCE, "");
    const text = number ? `[${number}] ${parts.length === 1 ? parts[0][0] : own}` : own;
    return beside.has(change) ? `${text} (only updates it)` : text;
  });
  return [...(reason && !named.some(text => text.endsWith(reason)) ? [reason] : []), ...named].join("; ");
}
/** A row for each change; many alike ones of one resource, or of a name in several modules, have one row. */
function changeRows(changes) {
  const shortOf = ([address]) => address.replace(MODULE, "").replace(KEY, "[*]$1"), families = byKey(changes, change => JSON.stringify([change[1], shortOf(change), whyText(change)]));
  return [...families.values()].flatMap(those => {
    const cells = (name, [, action]) => row([literal(signOf.get(action) || action), literal(name), clipped(whyText(those[0]))]);
    if (those.length < ALIKE) return those.map(change => [cells(change[0], change), 1]);
    const modules = [...new Set(those.map(([address]) => moduleOf(address).slice(0, -1)))].sort(NUMERIC.compare), names = new Set(those.map(([address]) => address.replace(MODULE, "")));
    const where = modules.length > NAMED_MODULES ? ` in ${several(modules.length, "module")}` : modules[0] || modules.length > 1 ? ` in ${modules.map(module => module || "the root module").join(", ")}` : "";
    return [[cells(names.size > 1 ? `${shortOf(those[0])}: ${those.length}${where}` : `${[...names][0]}${where}`, those[0]), those.length]];
  });
}
function markdown() {
  const changes = data.changes.filter(change => change[1] !== "no-op").sort(([a], [b]) => NUMERIC.compare(a, b)), lines = [`# ${literal(document.title)}`, "", ...data.summary.map(literal), ...(Object.keys(data.moved || {}).length ? [`${several(Object.keys(data.moved).length, "object")} moved.`] : []), "", ...data.about.map(([word, text]) => `- ${word}: ${literal(text)}`)];
  const room = () => MOST_MARKDOWN - lines.reduce((all, line) => all + line.length + 1, 0) - 1000; // with room for the headings and numbers of all sections
  const causes = causeRows(), things = noun === "node" ? "object" : noun, isDangerous = ([, action]) => ["delete", "replace"].includes(colourOf.get(action));
  if (causes.length) lines.push("", `## Causes (${causes.length})`, "", "| | cause | before | after | where | effects |", "| --- | --- | --- | --- | --- | --- |", ...inRoom(causes, OF_CAUSES, "cause"));
  const losing = data.changes.filter(losesData), unknown = (data.unknown_data || []).map(n => data.changes[n]), names = those => those.slice(0, IDLE_NAMED).map(([name]) => literal(name)).join(", ") + (those.length > IDLE_NAMED ? ` and ${those.length - IDLE_NAMED} more` : "");
  if (losing.length) lines.push("", `**Data is lost** (${several(losing.length, "object")}): ${names(losing)}.`);
  if (unknown.length) lines.push("", `Not known whether these destroyed or replaced objects hold data: ${names(unknown)}.`);
  if (data.advice) lines.push("", literal(data.advice));
  if (data.idle?.length) lines.push("", `Edits that are not a cause of any change: ${data.idle.slice(0, IDLE_NAMED).map(([name, where]) => literal(where ? `${name} (${where})` : name)).join(", ")}${data.idle.length > IDLE_NAMED ? ` and ${data.idle.length - IDLE_NAMED} more` : ""}.`);
  if (data.verdicts.length) lines.push("", "## Policies", "", ...inRoom(data.verdicts.map(([kind, ...words]) => [`- **${literal(kind)}** ${words.map(clipped).join(" ")}`, 1]), OF_POLICIES, "finding"));
  const ofObjects = changes.filter(change => !isOutput(change)), sections = [["Destroyed or replaced", byRisk().flatMap(([action]) => ofObjects.filter(change => change[1] === action && isDangerous(change)))],
    ["Other changes", byRisk().flatMap(([action]) => ofObjects.filter(change => change[1] === action && !isDangerous(change)))], ["Outputs", changes.filter(isOutput)]];
  for (const [title, found] of sections) if (found.length) lines.push("", `## ${title} (${found.length})`, "", "| | object | why |", "| --- | --- | --- |", ...inRoom(changeRows(found), room(), title === "Outputs" ? "output" : things));
  const movedRows = data.changes.filter(formerOf).sort(([a], [b]) => NUMERIC.compare(a, b)).map(change => [row([literal(change[0]), literal(formerOf(change)), change[1] === "no-op" ? "otherwise unchanged" : literal(named(change[1]))]), 1]);
  if (movedRows.length) lines.push("", `## Moved (${movedRows.length})`, "", "| object | moved from | |", "| --- | --- | --- |", ...inRoom(movedRows, room(), things));
  return `${lines.join("\n")}\n`;
}
