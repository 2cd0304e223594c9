// Rows or columns for the things of one box, by the edges that are drawn between them.
"use strict";
const SWEEPS = 4;

/** Layers of things, each after what its things wait for, so that few edges cross. `pairs`: [thing, what it waits for].
 * Where things wait for each other, one of them comes first. */
function layered(things, pairs) {
  const before = new Map(things.map(thing => [thing, []])), after = new Map(things.map(thing => [thing, []]));
  for (const [thing, other] of pairs) { before.get(thing).push(other); after.get(other).push(thing); }
  const level = new Map(), waiting = new Map(things.map(thing => [thing, before.get(thing).length])), left = new Set(things);
  const ready = things.filter(thing => !waiting.get(thing)), settled = new Set(ready);
  for (let at = 0; left.size; at++) {
    if (at === ready.length) { // a cycle: what waits for the fewest comes first
      const next = [...left].reduce((a, b) => waiting.get(b) < waiting.get(a) ? b : a);
      settled.add(next); ready.push(next);
    }
    const thing = ready[at];
    left.delete(thing);
    level.set(thing, 1 + Math.max(-1, ...before.get(thing).filter(other => level.has(other)).map(other => level.get(other))));
    for (const other of after.get(thing)) {
      waiting.set(other, waiting.get(other) - 1);
      if (!waiting.get(other) && !settled.has(other)) { settled.add(other); ready.push(other); }
    }
  }
  for (const thing of things) if (!before.get(thing).length) level.set(thing, Math.max(0, Math.min(...after.get(thing).map(other => level.get(other))) - 1)); // short edges
  const layers = [], place = new Map();
  for (const thing of things) (layers[level.get(thing)] ||= []).push(thing);
  const filled = layers.filter(layer => layer), number = layer => layer.forEach((thing, n) => place.set(thing, n - (layer.length - 1) / 2));
  filled.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? after : before;
    for (const layer of sweep % 2 ? [...filled].reverse() : filled) {
      const mean = new Map(layer.map(thing => [thing, near.get(thing).reduce((all, other) => all + place.get(other), 0) / near.get(thing).length || place.get(thing)]));
      layer.sort((a, b) => mean.get(a) - mean.get(b));
      number(layer);
    }
  }
  const most = Math.max(24, 2 * Math.floor(Math.sqrt(things.length)));
  return filled.flatMap(layer => Array.from({ length: Math.ceil(layer.length / most) }, (_, n) => layer.slice(n * most, (n + 1) * most)));
}
/** Items in rows that are not longer than a limit, but have one item at least. */
function inRows(items, sizes, limit, gap) {
  const rows = [];
  let filled = Infinity;
  items.forEach((item, n) => {
    if (filled + sizes[n] > limit) { rows.push([]); filled = 0; }
    rows.at(-1).push(item);
    filled += sizes[n] + gap;
  });
  return rows;
}
