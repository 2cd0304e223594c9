// What there is to draw: the graph of one view, which boxes are folded, and where everything stands.
"use strict";
const NODE = 26, GAP = 16, BETWEEN = 76, BELOW = 46, PAD = 16, HEAD = 32, LETTER = 7.25, WIDEST = 340, FOLDED = 32, CELL = 10;
const QUIET_FROM = 60; // nodes from which on edges that all have are hidden at first
const BOXES = 60; // things that a page begins with at most, if folding helps
const WAYS = 60000; // edges through hidden nodes at most
const ARRANGED = 2000; // changed nodes up to which a page arranges what is shown by the edges that are
const APART = 30; // things up to which groups of alike ones are not drawn as boxes
const canvas = document.getElementById("graph");
const INSTANCE_KEYS = /\[(?:"(?:\\.|[^"\\])*"|\d+)\]/g; // of instances
let data, IMPLIED, colourOf, signOf, wordsOf;

const RISKY = ["replace", "delete", "forget"];
/** The place of an action in lists: what is lost or has failed comes first. */
const rank = action => (RISKY.indexOf(colourOf.get(action)) + RISKY.length + 1) % (RISKY.length + 1);
const NUMERIC = new Intl.Collator("en", { numeric: true });

/** Begin with this document. */
function take(document) {
  data = document;
  IMPLIED = 1 << data.layers.length;
  colourOf = new Map(data.actions.map(([action, colour]) => [action, colour]));
  signOf = new Map(data.actions.map(([action, , sign]) => [action, sign]));
  wordsOf = new Map(data.actions.map(([action, , , words]) => [action, words]));
}
take(JSON.parse(document.getElementById("data").textContent));

/** The nodes and edges of a view, by number. A thing is a node, or a box as -1 minus its number. */
class Scene {
  constructor(view) {
    this.view = view;
    const { nodes, edges, boxes } = view, room = new Array(WAYS).fill(0);
    this.count = nodes.name.length;
    this.edgeCount = edges.from.length; // behind them are ways through hidden nodes
    this.from = Int32Array.from([...edges.from, ...room]);
    this.to = Int32Array.from([...edges.to, ...room]);
    this.layers = Uint8Array.from([...edges.layers, ...room]);
    this.out = index(this.count, edges.from); // edges to what a node waits for
    this.in = index(this.count, edges.to);
    this.boxes = boxes.map(([name, label, parent, columns]) => ({ name, label, parent, columns, size: 0, changed: 0, distinct: new Set(), tally: new Map(),
      isFamily: /, .*\*/.test(name), isGroup: name !== label && !name.endsWith(`.${label}`) })); // of things by type or name, not a module
    this.folded = new Uint8Array(boxes.length);
    this.x = new Float64Array(this.count); this.y = new Float64Array(this.count); this.w = new Float64Array(this.count);
    this.rect = boxes.map(() => ({ x: 0, y: 0, w: 0, h: 0, shown: false }));
    this.hidden = new Uint8Array(this.count);
    this.stands = new Int32Array(this.count); // the thing that is drawn for a node
    this.action = Array.from({ length: this.count }, (_, n) => actionOf(this.changes(n)));
    this.signs = this.action.map(action => action && signOf.get(action) ? `${signOf.get(action)} ` : "");
    this.nodeOf = new Map(); // by address of a change
    for (let n = 0; n < this.count; n++) {
      for (const change of this.changes(n)) if (!this.nodeOf.has(change[0])) this.nodeOf.set(change[0], n);
      for (let b = nodes.box[n]; b >= 0; b = this.boxes[b].parent) {
        const box = this.boxes[b];
        box.size++;
        if (this.action[n]) box.changed++;
        for (const number of nodes.changes[n] || []) if (data.changes[number][1] !== "no-op") box.distinct.add(number);
      }
    }
    for (const { distinct, tally } of this.boxes) for (const number of distinct) { // an object may have several nodes
      const [, action] = data.changes[number];
      if (signOf.has(action)) tally.set(action, (tally.get(action) || 0) + 1);
    }
    for (const box of this.boxes) box.tally = new Map([...box.tally].sort(([a], [b]) => rank(a) - rank(b)));
    const quiet = this.count > QUIET_FROM ? ["provider", "module"] : [];
    this.visible = data.layers.reduce((bits, [name], n) => quiet.includes(name) ? bits : bits | 1 << n, 0);
    this.implied = false;
    this.onlyChanged = data.noun === "node" && this.boxes.length > 0 && this.boxes[0].changed > 0;
    this.open();
  }
  text(number) { return data.strings[number]; }
  name(node) { return this.text(this.view.nodes.name[node]); }
  label(node) { return this.signs[node] + this.text(this.view.nodes.label[node]); }
  kind(node) { return this.text(this.view.nodes.kind[node]); }
  about(node) { return this.text(this.view.nodes.about[node]); }
  changes(node) { return (this.view.nodes.changes[node] || []).map(n => data.changes[n]); }
  placeOf(node) { return data.places[this.view.nodes.place[node]]; }
  title(thing) { return thing >= 0 ? this.name(thing) : this.boxes[-1 - thing].name; }
  /** The box in which a thing is drawn. */
  box(thing) { return thing >= 0 ? this.home[thing] : this.homes[-1 - thing]; }
  find(name) {
    for (let n = 0; n < this.count; n++) if (this.name(n) === name) return n;
    const b = this.boxes.findIndex(box => box.name === name && name);
    return b < 0 ? null : -1 - b;
  }

  /** Why an edge is there: [{rule, reason, places}]. */
  reasons(edge) {
    const a = this.from[edge], b = this.to[edge];
    const names = { "\x01": this.name(a), "\x02": this.name(b), "\x03": this.about(a), "\x04": this.about(b) };
    return [this.view.edges.grounds[edge]].flat().map(number => {
      const [rule, reason, places] = data.grounds[number];
      return { rule: this.text(rule), places: places.map(n => data.places[n]),
        reason: this.text(reason).replace(/[\x01-\x04]/g, mark => names[mark]) };
    });
  }
  layerNames(edge) { return data.layers.filter((_, n) => this.layers[edge] >> n & 1).map(([name]) => name); }

  // -------------------------------------------------------------- folding

  foldAll(folded) {
    for (let b = 1; b < this.boxes.length; b++) this.folded[b] = folded;
    for (const box of this.boxes) box.rowsWere = null;
  }
  isShown(thing) { return !this.onlyChanged || (thing >= 0 ? this.action[thing] !== "" : this.boxes[-1 - thing].changed > 0); }
  contents(b) { return this.inside[b]; }
  /** Fold as many boxes as is needed for everything to be legible at once. */
  open() {
    for (const most of [BOXES, BOXES / 2, BOXES / 4, 0]) {
      this.foldTo(most);
      this.arrange();
      const { w, h } = this.rect[0];
      if (Math.min(canvas.clientWidth / w, canvas.clientHeight / h) > LEGIBLE) return;
    }
  }
  /** Fold all boxes but the outer ones that leave at most so many things to be drawn. */
  foldTo(most) {
    this.settle();
    this.foldAll(1);
    const waiting = [0];
    let count = 1;
    for (const b of waiting) {
      const inside = this.contents(b), isPart = this.boxes[b].isFamily || / to \d+$/.test(this.boxes[b].name); // one of many alike
      if (b && count > 1 && (isPart || count - 1 + inside.length > most)) continue;
      this.folded[b] = 0;
      count += inside.length - 1;
      waiting.push(...inside.filter(thing => thing < 0).map(thing => -1 - thing));
    }
  }
  /** Unfold all boxes around a node. */
  reveal(node) {
    let was = false;
    for (let b = node >= 0 ? this.view.nodes.box[node] : this.boxes[-1 - node].parent; b > 0; b = this.boxes[b].parent) { was ||= this.folded[b]; this.folded[b] = 0; }
    if (node >= 0 && this.hidden[node]) { this.onlyChanged = false; was = true; }
    if (was) this.arrange();
    return was;
  }

  // -------------------------------------------------------------- places

  /** Place everything anew: after folding, and when other nodes or edges are to be seen. */
  arrange() {
    this.settle();
    this.order = []; // the columns and rows that are drawn, for those who walk through them
    this.where = new Map();
    for (const rect of this.rect) rect.shown = false;
    this.measure(0);
    this.put(0, 0, 0);
    this.connect();
  }
  /** Determine what is shown, and in which box and layer: anew where only changes are shown, as few of many may be. */
  settle() {
    if (this.settled === this.onlyChanged) return;
    this.settled = this.onlyChanged;
    for (let n = 0; n < this.count; n++) this.hidden[n] = !this.isShown(n);
    this.findWays();
    this.home = Int32Array.from(this.view.nodes.box);
    this.homes = this.boxes.map(box => box.parent);
    const isAnew = this.onlyChanged && this.boxes[0].changed <= ARRANGED, shown = b => this.boxes[b].columns.flat().filter(thing => this.isShown(thing));
    this.inside = this.boxes.map((_, b) => {
      const those = shown(b), apart = isAnew ? this.withoutGroups(those, shown) : those;
      return apart.length <= APART ? apart : those;
    });
    this.inside.forEach((things, b) => { if (this.isDrawn(b)) for (const thing of things) if (thing >= 0) this.home[thing] = b; else this.homes[-1 - thing] = b; });
    if (!isAnew) { this.layered = this.boxes.map(box => box.columns.map(column => column.filter(thing => this.isShown(thing)))); this.loose = this.boxes.map(() => []); return; }
    const pairs = this.lifted();
    this.loose = this.inside.map((things, b) => things.filter(thing => !pairs[b].has(thing)).sort((a, b) => NUMERIC.compare(this.title(a), this.title(b))));
    this.layered = this.inside.map((things, b) => layered(things.filter(thing => pairs[b].has(thing)), [...pairs[b]].flatMap(([thing, others]) => [...others].map(other => [thing, other]))));
  }
  withoutGroups(things, shown) { return things.flatMap(thing => thing < 0 && this.boxes[-1 - thing].isGroup ? this.withoutGroups(shown(-1 - thing), shown) : [thing]); }
  /** Whether a box is among the things of another, or the outermost. */
  isDrawn(b) { return !b || this.inside[this.homes[b]].includes(-1 - b) && this.isDrawn(this.homes[b]); }
  /** For each box the things in it that edges join, with those that they wait for. */
  lifted() {
    const found = this.boxes.map(() => new Map()), ways = this.boxes.map(() => null);
    const outer = b => ways[b] ||= b > 0 ? [...outer(this.homes[b]), b] : [0];
    const at = (b, thing) => { if (!found[b].has(thing)) found[b].set(thing, new Set()); return found[b].get(thing); };
    for (let e = 0; e < this.edgeCount + this.ways.size; e++) {
      const a = this.from[e], b = this.to[e];
      if (a === b || this.hidden[a] || this.hidden[b] || !this.isWanted(e)) continue;
      const one = outer(this.home[a]), other = outer(this.home[b]);
      let n = 1;
      while (n < one.length && one[n] === other[n]) n++;
      const [thing, dependency] = [n < one.length ? -1 - one[n] : a, n < other.length ? -1 - other[n] : b];
      at(one[n - 1], thing).add(dependency); at(one[n - 1], dependency);
    }
    return found;
  }
  /** Size of a box, with room for what is in it; columns without what is hidden. */
  measure(b) {
    const box = this.boxes[b], rect = this.rect[b];
    if (b && !this.isShown(-1 - b)) { rect.w = rect.h = 0; return; }
    const titled = b ? 36 + 1.15 * LETTER * this.boxTitle(b).length + 6 * this.boxes[b].tally.size : 0;
    if (b && this.folded[b]) { rect.w = Math.min(WIDEST, titled); rect.h = FOLDED; return; }
    const size = thing => {
      if (thing < 0) this.measure(-1 - thing); else this.w[thing] = Math.min(WIDEST, 20 + LETTER * this.label(thing).length);
      return this.area(thing).slice(2);
    };
    const bandOf = (things, isGrid = false) => {
      const gap = isGrid ? CELL : GAP, band = { things, isGrid, tall: -gap, wide: -GAP, w: 0, h: 0 };
      for (const thing of things) {
        const [, , w, h] = this.area(thing);
        band.tall += h + gap; band.wide += w + GAP;
        band.w = Math.max(band.w, w); band.h = Math.max(band.h, h);
      }
      return band;
    };
    for (const things of this.layered[b]) things.forEach(size);
    const joined = this.layered[b].filter(things => things.length).map(things => bandOf(things)), loose = this.loose[b];
    const sizes = loose.map(size), widest = Math.max(0, ...sizes.filter((_, n) => !this.isOpen(loose[n])).map(([w]) => w));
    loose.forEach((thing, n) => { if (sizes[n][0] < widest) { this.setWidth(thing, widest); sizes[n][0] = widest; } });
    const most = (bands, name) => bands.reduce((all, band) => Math.max(all, band[name]), 0);
    const room = canvas.clientWidth / LEGIBLE - 2 * PAD; // what a row may have for all of it to be seen
    joined.forEach((band, n) => { band.layer = n; });
    const rows = joined.flatMap(({ things, layer }) => inRows(things, things.map(thing => this.area(thing)[2]), room, GAP).map(row => ({ ...bandOf(row), layer })));
    const shape = canvas.clientWidth / canvas.clientHeight || 1.6;
    const odd = ([w, h]) => Math.abs(Math.log(Math.max(w, 1) / Math.max(h, 1) / shape));
    const cost = (size, count) => odd(size) + (size[0] > room + 1 ? 1 : 0) - (count && count === box.rowsWere ? 0.6 : 0); // unfolding one thing keeps the rows
    box.below = most(rows, "wide") > 2 * most(rows, "w") ? BELOW : 0.7 * BELOW;
    /** All bands, in rows or columns: of those for loose things as many as suits the window. */
    const whole = (isDown, usual) => {
      const length = sizes.map(([w, h]) => isDown ? w : h), between = isDown ? GAP : CELL, total = length.reduce((all, one) => all + one + between, -between);
      let best = null;
      for (let n = 1; n <= Math.max(1, Math.min(loose.length, 40)); n++) {
        const limit = Math.max(total / n + (n > 1 ? Math.max(0, ...length) / 2 : 0), ...length);
        const bands = [...(isDown ? rows : joined), ...inRows(loose, length, limit + 1, between).map(things => bandOf(things, true))];
        const gap = at => bands[at].isGrid && bands[at + 1]?.isGrid ? (isDown ? CELL : GAP) : usual;
        const along = bands.reduce((all, band, at) => all + band[isDown ? "h" : "w"] + gap(at), -usual), across = most(bands, isDown ? "wide" : "tall");
        const size = isDown ? [across, along] : [along, across];
        const count = loose.length ? (isDown ? n : -n) : 0;
        if (!best || cost(size, count) < cost(best.size, best.count) - 0.01) best = { bands, size, count, gaps: bands.map((_, at) => gap(at)) };
      }
      return best;
    };
    const take = ({ bands, gaps }) => { box.bands = bands; bands.forEach((band, n) => { band.gap = gaps[n]; }); box.grid = bands.filter(band => band.isGrid); };
    const side = whole(false, BETWEEN), stack = whole(true, box.below), across = side.size;
    take(stack);
    let down = this.inStrips(box, 1), strips = 1;
    for (let n = 2; joined.length && n * n <= 2 * box.bands.length; n++) {
      const size = this.inStrips(box, n);
      if (cost(size) + 0.2 < cost(down)) [down, strips] = [size, n];
    }
    this.inStrips(box, strips);
    box.isDown = cost(down, stack.count) < cost(across, side.count) + 0.3;
    if (!box.isDown) take(side);
    box.rowsWere = box.isDown ? stack.count : side.count;
    const [w, h] = box.isDown ? down : across;
    rect.w = Math.max(w + 2 * PAD, titled);
    rect.h = h + HEAD + PAD;
  }
  isOpen(thing) { return thing < 0 && !this.folded[-1 - thing]; }
  setWidth(thing, width) { if (thing >= 0) this.w[thing] = width; else this.rect[-1 - thing].w = width; }
  /** Put the rows of a box into strips side by side, each from top to bottom; the size of all. */
  inStrips(box, count) {
    const tall = box.bands.reduce((all, band) => all + band.h + band.gap, 0) / count;
    const strips = box.strips = [];
    let filled = 0;
    for (const band of box.bands) {
      const at = Math.min(count - 1, Math.floor((filled + band.h / 2) / tall));
      filled += band.h + band.gap;
      if (!strips[at]) strips[at] = { w: 0, h: -box.below };
      band.strip = at;
      strips[at].w = Math.max(strips[at].w, band.wide);
      strips[at].h += band.h + band.gap;
    }
    const real = strips.filter(strip => strip);
    return [real.reduce((all, strip) => all + strip.w + BETWEEN, -BETWEEN), Math.max(0, ...real.map(strip => strip.h))];
  }
  boxTitle(b) {
    const { size } = this.boxes[b], counts = this.counts(b).map(([, text]) => text);
    return `${this.boxName(b)}  ${counts.length ? counts.join("  ") : `(${size})`}`;
  }
  /** The name of a box as it is drawn; that of a family with the number of its modules. */
  boxName(b) {
    const { label, isFamily } = this.boxes[b];
    if (!isFamily) return label;
    const [shown, all] = [true, false].map(isShown => this.modules(b, isShown));
    return `${label} (${shown < all ? `${shown} of ${all}` : all})`;
  }
  /** The number of modules in a group, of all or those that are shown. */
  modules(b, isShown) {
    return this.boxes[b].columns.flat().filter(thing => thing < 0 && (!isShown || this.isShown(thing)))
      .reduce((all, thing) => all + (this.boxes[-1 - thing].isGroup ? this.modules(-1 - thing, isShown) : 1), 0);
  }
  /** Colours and numbers of the changes in a box. */
  counts(b) { return data.noun === "node" ? [...this.boxes[b].tally].map(([action, number]) => [colourOf.get(action), `${signOf.get(action) || action} ${number}`]) : []; }
  put(b, x, y) {
    const box = this.boxes[b], rect = this.rect[b];
    rect.x = x; rect.y = y; rect.shown = true;
    if (b && this.folded[b]) { this.standIn(b, -1 - b); return; }
    let left = x + PAD, top = y + HEAD, strip = 0;
    const inner = box.strips.reduce((all, one) => all + one.w + BETWEEN, -BETWEEN);
    if (box.isDown) left = x + (rect.w - inner) / 2;
    const [gridWide, gridTall] = ["wide", "tall"].map(name => Math.max(0, ...box.grid.map(band => band[name])));
    box.bands.forEach((band, n) => {
      if (box.isDown && band.strip !== strip) {
        if (box.strips[strip]) left += box.strips[strip].w + BETWEEN;
        strip = band.strip; top = y + HEAD;
      }
      let across = left, down = top;
      if (box.isDown) { across = left + (box.strips[strip].w - (band.isGrid ? gridWide : band.wide)) / 2; box.strips[strip].x = left; }
      else down = y + HEAD + (rect.h - HEAD - PAD - (band.isGrid ? gridTall : band.tall)) / 2;
      [band.begin, band.end] = box.isDown ? [top, top + band.h] : [left, left + band.w];
      this.order.push(band.things);
      band.things.forEach((thing, at) => {
        this.where.set(thing, { band: this.order.length - 1, at, isDown: box.isDown, number: n, layer: band.layer });
        if (thing >= 0) { this.x[thing] = across; this.y[thing] = down; this.stands[thing] = thing; }
        else this.put(-1 - thing, across, down);
        const [, , w, h] = this.area(thing);
        if (box.isDown) across += w + GAP; else down += h + (band.isGrid ? CELL : GAP);
      });
      if (box.isDown) top += band.h + band.gap; else left += band.w + band.gap;
    });
  }
  /** The things of the next or former row of a box if one of both is of a grid, in which no edges lead on. */
  nextRow(thing, along) {
    const { bands } = this.boxes[this.box(thing)], { number } = this.where.get(thing), next = bands[number + along];
    return next && (next.isGrid || bands[number].isGrid) ? next.things : [];
  }
  /** A folded box is drawn for all that is in it. */
  standIn(b, thing) {
    for (const column of this.boxes[b].columns)
      for (const other of column)
        if (other >= 0) this.stands[other] = thing; else this.standIn(-1 - other, thing);
  }
  /** The rectangle of a thing: [x, y, width, height]. */
  area(thing) {
    if (thing >= 0) return [this.x[thing], this.y[thing], this.w[thing], NODE];
    const { x, y, w, h } = this.rect[-1 - thing];
    return [x, y, w, h];
  }
  /** The rectangle around what is drawn for these nodes; null for none. */
  around(nodes) {
    let all = null;
    for (const node of nodes) {
      if (this.hidden[node]) continue;
      const [x, y, w, h] = this.area(this.stands[node]);
      all = all ? [Math.min(all[0], x), Math.min(all[1], y), Math.max(all[2], x + w), Math.max(all[3], y + h)] : [x, y, x + w, y + h];
    }
    return all && [all[0], all[1], all[2] - all[0], all[3] - all[1]];
  }
  /** The thing at a point of the drawing; null where nothing is, or an open box. */
  at(x, y) {
    const inside = ([left, top, w, h]) => x >= left && x <= left + w && y >= top && y <= top + h;
    for (const [thing] of this.where) {
      if (thing >= 0 || this.folded[-1 - thing]) { if (inside(this.area(thing))) return thing; continue; }
      const [left, top, w] = this.area(thing);
      if (inside([left, top, w, HEAD - 4])) return thing; // the title of an open box
    }
    return null;
  }

  // -------------------------------------------------------------- edges

  isWanted(e) { return this.layers[e] & this.visible && (!(this.layers[e] & IMPLIED) || this.implied || this.needed.has(e)); }
  /** The edges that are drawn: pairs of things. */
  connect() {
    const seen = new Set(), lines = [];
    for (let e = 0; e < this.edgeCount + this.ways.size; e++) {
      if (!this.isWanted(e)) continue;
      const a = this.from[e], b = this.to[e];
      if (this.hidden[a] || this.hidden[b]) continue;
      const one = this.stands[a], other = this.stands[b];
      if (one === other) continue;
      if (one < 0 || other < 0) {
        const key = `${one} ${other}`;
        if (seen.has(key)) continue;
        seen.add(key);
      }
      lines.push(e);
    }
    this.lines = Int32Array.from(this.implied || lines.length > 1000 ? lines : this.withoutImplied(lines));
    this.routes = new Map();
  }
  /** The edges without those of folded boxes that others imply as they are drawn; all where some form a cycle. */
  withoutImplied(lines) {
    const near = new Map([...this.where.keys()].map(thing => [thing, []])), waiting = new Map();
    const ends = e => [this.stands[this.from[e]], this.stands[this.to[e]]];
    for (const e of lines) { const [a, b] = ends(e); near.get(a).push(b); waiting.set(b, (waiting.get(b) || 0) + 1); }
    const free = [...near.keys()].filter(thing => !waiting.get(thing));
    for (const thing of free) for (const other of near.get(thing)) { waiting.set(other, waiting.get(other) - 1); if (!waiting.get(other)) free.push(other); }
    return free.length < near.size ? lines : lines.filter(e => { const [a, b] = ends(e); return a >= 0 && b >= 0 || !leads(near, a, b); });
  }
  /** Edges for the ways between shown nodes that lead through hidden ones only: `ways` has the edges of each. */
  findWays() {
    this.ways = new Map();
    this.needed = new Set(); // edges that others imply, but only through hidden nodes
    if (!this.onlyChanged) return;
    const reached = this.reached();
    const pairs = [], near = new Map(); // what a node waits for as it is drawn
    for (let a = 0; a < this.count && pairs.length < WAYS; a++) {
      if (this.hidden[a]) continue;
      const direct = new Map(this.out[a].map(e => [this.to[e], e]));
      near.set(a, [...direct].filter(([c, e]) => !this.hidden[c] && !(this.layers[e] & IMPLIED)).map(([c]) => c));
      const seen = new Set([a, ...near.get(a)]);
      for (const e of this.steps(a)) for (const c of (reached[this.to[e]] || new Map()).keys()) {
        if (seen.has(c) || pairs.length >= WAYS) continue;
        seen.add(c); near.get(a).push(c);
        pairs.push([a, c, e, direct.get(c)]);
      }
    }
    const isSmall = this.boxes[0].changed <= 400;
    for (const [a, c, first, edge] of pairs) {
      if (isSmall && leads(near, a, c)) continue;
      if (edge !== undefined) { this.needed.add(edge); continue; }
      const edges = [first];
      for (let at = this.to[first]; at !== c; at = this.to[edges.at(-1)]) edges.push(reached[at].get(c));
      const e = this.edgeCount + this.ways.size, names = edges.filter(x => this.name(this.to[x]) !== `${this.about(this.from[x]).replace(INSTANCE_KEYS, "")} (expand)`).map(x => this.layerNames(x)[0]);
      const name = names.includes("destroy") ? "destroy" : names.includes("order") ? "order" : "reference";
      this.from[e] = a; this.to[e] = c; this.layers[e] = 1 << data.layers.findIndex(([layer]) => layer === name);
      this.ways.set(e, edges);
    }
  }
  /** The edges of a node that no others imply, those that read a value first: they say most. */
  steps(node) {
    const edges = this.out[node].filter(e => !(this.layers[e] & IMPLIED)), reads = e => this.layerNames(e)[0] === "reference";
    return edges.length > 1 ? [...edges.filter(reads), ...edges.filter(e => !reads(e))] : edges;
  }
  /** Of each hidden node the shown ones that it waits for through hidden ones only, with the first edge on the way. */
  reached() {
    const known = [], begun = new Uint8Array(this.count);
    let room = 10 * WAYS;
    for (let e = 0; e < this.edgeCount; e++) {
      const stack = !this.hidden[this.from[e]] && this.hidden[this.to[e]] ? [this.to[e]] : [];
      while (stack.length) {
        const at = stack.at(-1), edges = this.steps(at);
        if (!begun[at]) {
          begun[at] = 1;
          for (const e of edges) if (this.hidden[this.to[e]] && !begun[this.to[e]]) stack.push(this.to[e]);
          continue;
        }
        stack.pop();
        if (known[at]) continue;
        const found = known[at] = new Map();
        for (const e of edges) if (!this.hidden[this.to[e]]) found.set(this.to[e], e);
        for (const e of edges) for (const [c] of known[this.to[e]] || []) if (!found.has(c) && room-- > 0) found.set(c, e);
      }
    }
    return known;
  }

  /** What a change of a node reaches: node -> number of edges on the shortest way. */
  blast(node) {
    const found = new Map([[node, 0]]);
    for (const at of found.keys()) for (const e of this.in[at]) {
      const other = this.from[e];
      if (!found.has(other)) found.set(other, found.get(at) + 1);
    }
    return found;
  }
  /** The edges of a shortest path along which one node waits for another; null for none. */
  path(start, end) {
    const by = new Map([[start, -1]]);
    for (const at of by.keys()) {
      if (at === end) break;
      for (const e of this.out[at]) if (!by.has(this.to[e])) by.set(this.to[e], e);
    }
    if (!by.has(end)) return null;
    const edges = [];
    for (let at = end; at !== start; at = this.from[by.get(at)]) edges.unshift(by.get(at));
    return edges;
  }
}

/** Whether a longer way leads from one to the other. */
function leads(near, from, to) {
  const seen = new Set(near.get(from).filter(thing => thing !== to));
  for (const thing of seen) { if (thing === to) return true; for (const more of near.get(thing) || []) seen.add(more); }
  return false;
}
function index(count, ends) {
  const lists = Array.from({ length: count }, () => []);
  ends.forEach((node, edge) => lists[node].push(edge));
  return lists;
}
/** The action that a node is coloured by: the first that does something. */
function actionOf(changes) {
  const change = changes.find(c => c[1] !== "no-op" && c[1] !== "");
  return change ? change[1] : "";
}
