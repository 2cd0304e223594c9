// What there is to draw: the graph of one view, which boxes are folded, and where everything stands.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const IMPLIED = 1 << data.layers.length;
const NODE = 24, GAP = 10, BETWEEN = 70, BELOW = 44, PAD = 14, HEAD = 26, LETTER = 6.7, WIDEST = 300;
const SHAPE = (({ clientWidth: w, clientHeight: h }) => w / h || 1.6)(document.getElementById("graph")); // liked best
const QUIET_FROM = 60; // nodes from which on edges that all have are hidden at first
const FOLDS_FROM = 400; // nodes from which on a page begins with its modules folded

/** The nodes and edges of a view, by number. A thing is a node, or a box as -1 minus its number. */
class Scene {
  constructor(view) {
    this.view = view;
    const { nodes, edges, boxes } = view;
    this.count = nodes.name.length;
    this.from = Int32Array.from(edges.from);
    this.to = Int32Array.from(edges.to);
    this.layers = Uint8Array.from(edges.layers);
    this.out = index(this.count, this.from); // edges to what a node waits for
    this.in = index(this.count, this.to);
    this.boxes = boxes.map(([name, label, parent, columns]) => ({ name, label, parent, columns, size: 0, changed: 0, tally: new Map() }));
    this.folded = new Uint8Array(boxes.length);
    this.x = new Float64Array(this.count); this.y = new Float64Array(this.count); this.w = new Float64Array(this.count);
    this.runsDown = new Uint8Array(this.count); this.boxRunsDown = new Uint8Array(boxes.length);
    this.rect = boxes.map(() => ({ x: 0, y: 0, w: 0, h: 0, shown: false }));
    this.hidden = new Uint8Array(this.count);
    this.stands = new Int32Array(this.count); // the thing that is drawn for a node
    this.action = Array.from({ length: this.count }, (_, n) => actionOf(this.changes(n)));
    this.signs = this.action.map(action => action && signOf.get(action) ? `${signOf.get(action)} ` : "");
    for (let n = 0; n < this.count; n++)
      for (let b = nodes.box[n]; b >= 0; b = this.boxes[b].parent) {
        this.boxes[b].size++;
        if (!this.action[n]) continue;
        this.boxes[b].changed++;
        const colour = colourOf.get(this.action[n]), { tally } = this.boxes[b];
        tally.set(colour, (tally.get(colour) || 0) + 1);
      }
    const quiet = this.count > QUIET_FROM ? ["provider", "module"] : [];
    this.visible = data.layers.reduce((bits, [name], n) => quiet.includes(name) ? bits : bits | 1 << n, 0);
    this.implied = false;
    this.onlyChanged = false;
    if (this.count > FOLDS_FROM) this.foldAll(true);
    this.arrange();
  }
  text(number) { return data.strings[number]; }
  name(node) { return this.text(this.view.nodes.name[node]); }
  label(node) { return this.signs[node] + this.text(this.view.nodes.label[node]); }
  kind(node) { return this.text(this.view.nodes.kind[node]); }
  about(node) { return this.text(this.view.nodes.about[node]); }
  changes(node) { return (this.view.nodes.changes[node] || []).map(n => data.changes[n]); }
  placeOf(node) { return data.places[this.view.nodes.place[node]]; }
  title(thing) { return thing >= 0 ? this.name(thing) : this.boxes[-1 - thing].name; }

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

  foldAll(folded) { for (let b = 1; b < this.boxes.length; b++) this.folded[b] = folded; }
  /** Unfold all boxes around a node. */
  reveal(node) {
    let was = false;
    for (let b = this.view.nodes.box[node]; b > 0; b = this.boxes[b].parent) { was ||= this.folded[b]; this.folded[b] = 0; }
    if (this.hidden[node]) { this.onlyChanged = false; was = true; }
    if (was) this.arrange();
    return was;
  }

  /** Place everything anew: after folding, and when other nodes or edges are to be seen. */
  arrange() {
    for (let n = 0; n < this.count; n++) this.hidden[n] = this.onlyChanged && !this.action[n];
    this.order = []; // the columns and rows that are drawn, for those who walk through them
    this.where = new Map();
    for (const rect of this.rect) rect.shown = false;
    this.measure(0);
    this.put(0, 0, 0);
    this.connect();
  }
  /** Size of a box, with room for what is in it; columns without what is hidden. */
  measure(b) {
    const box = this.boxes[b], rect = this.rect[b];
    if (this.onlyChanged && !box.changed && b) { rect.w = rect.h = 0; return; }
    if (b && this.folded[b]) { rect.w = Math.min(WIDEST, 40 + LETTER * (this.boxTitle(b).length)); rect.h = 30; return; }
    box.bands = [];
    for (const column of box.columns) {
      const band = { things: [], tall: -GAP, wide: -GAP, w: 0, h: 0 };
      for (const thing of column) {
        let w, h = NODE;
        if (thing >= 0) {
          if (this.hidden[thing]) continue;
          w = this.w[thing] = Math.min(WIDEST, 18 + LETTER * this.label(thing).length);
        } else {
          this.measure(-1 - thing);
          ({ w, h } = this.rect[-1 - thing]);
          if (!h) continue;
        }
        band.things.push(thing);
        band.tall += h + GAP; band.wide += w + GAP;
        band.w = Math.max(band.w, w); band.h = Math.max(band.h, h);
      }
      if (band.things.length) box.bands.push(band);
    }
    const sum = (name, between) => box.bands.reduce((all, band) => all + band[name] + between, -between);
    const most = name => box.bands.reduce((all, band) => Math.max(all, band[name]), 0);
    const across = [sum("w", BETWEEN), most("tall")], down = [most("wide"), sum("h", BELOW)];
    const odd = ([w, h]) => Math.abs(Math.log(Math.max(w, 1) / Math.max(h, 1) / SHAPE));
    box.isDown = odd(down) + 0.3 < odd(across);
    const [w, h] = box.isDown ? down : across;
    rect.w = Math.max(w + 2 * PAD, b ? 40 + LETTER * this.boxTitle(b).length : 0);
    rect.h = h + HEAD + PAD;
  }
  boxTitle(b) { return `${this.boxes[b].label} (${this.boxes[b].size})`; }
  put(b, x, y) {
    const box = this.boxes[b], rect = this.rect[b];
    rect.x = x; rect.y = y; rect.shown = true;
    if (b && this.folded[b]) { this.standIn(b, -1 - b); return; }
    let left = x + PAD, top = y + HEAD;
    for (const band of box.bands) {
      let across = left, down = top;
      if (box.isDown) across = x + (rect.w - band.wide) / 2;
      else down = y + HEAD + (rect.h - HEAD - PAD - band.tall) / 2;
      this.order.push(band.things);
      band.things.forEach((thing, at) => {
        this.where.set(thing, { band: this.order.length - 1, at, isDown: box.isDown });
        (thing >= 0 ? this.runsDown : this.boxRunsDown)[thing >= 0 ? thing : -1 - thing] = box.isDown;
        if (thing >= 0) { this.x[thing] = across; this.y[thing] = down; this.stands[thing] = thing; }
        else this.put(-1 - thing, across, down);
        const [, , w, h] = this.area(thing);
        if (box.isDown) across += w + GAP; else down += h + GAP;
      });
      if (box.isDown) top += band.h + BELOW; else left += band.w + BETWEEN;
    }
  }
  /** A folded box is drawn for all that is in it. */
  standIn(b, thing) {
    for (const column of this.boxes[b].columns)
      for (const other of column)
        if (other >= 0) this.stands[other] = thing; else this.standIn(-1 - other, thing);
  }
  /** The edges that are drawn: pairs of things. */
  connect() {
    const seen = new Set(), lines = [];
    for (let e = 0; e < this.from.length; e++) {
      const layers = this.layers[e];
      if (!(layers & this.visible) || layers & IMPLIED && !this.implied) continue;
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
    this.lines = Int32Array.from(lines);
  }
  /** The rectangle of a thing: [x, y, width, height]. */
  area(thing) {
    if (thing >= 0) return [this.x[thing], this.y[thing], this.w[thing], NODE];
    const { x, y, w, h } = this.rect[-1 - thing];
    return [x, y, w, h];
  }
  /** Whether the drawing around a thing runs downwards. */
  down(thing) { return thing >= 0 ? this.runsDown[thing] : this.boxRunsDown[-1 - thing]; }
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
const colourOf = new Map(data.actions.map(([action, colour]) => [action, colour]));
const signOf = new Map(data.actions.map(([action, , sign]) => [action, sign]));
