// The lines of a drawing: each for the edges between two modules or things.
"use strict";
const OBJECT = /resource|instance|deposed|orphan|data|destroy/; // the kinds of the nodes of objects
const BUNDLED = 200000; // edges up to which those between two modules are one line

class Lines extends Graph {
  /** The number of hidden objects through which a line leads, 0 if one of its edges does not. */
  hiddenBetween(e) {
    if (!this.ways.size) return 0;
    let least = Infinity;
    for (const one of this.bundle(e)) {
      const edges = this.ways.get(one) || [], names = new Set(edges.slice(0, -1).map(way => this.to[way]).filter(node => OBJECT.test(this.kind(node)) && !this.twins[node] && !this.isEnd(node)).map(node => this.shown(node)));
      for (const end of [this.from[one], this.to[one]]) names.delete(this.shown(end).replace(INSTANCE_KEYS, ""));
      least = Math.min(least, names.size);
      if (!least) return 0;
    }
    return least;
  }

  isWanted(e) { return !this.apartCauses?.has(this.to[e]) && this.layers[e] & this.visible && (!(this.layers[e] & IMPLIED) || this.implied || this.needed.has(e)); }
  /** The things between which an edge is drawn. */
  ends(e) { return this.drawnEnds.get(e) || [this.stands[this.from[e]], this.stands[this.to[e]]]; }
  /** The edges that a line is drawn for. */
  bundle(e) { return this.bundles.get(e) || [e]; }
  /** The outermost modules, or the things themselves, that have one thing each. */
  apart(one, other, ways) {
    const way = thing => { if (!ways.has(thing)) ways.set(thing, [thing, ...this.outward(this.box(thing)).map(b => -1 - b)].reverse()); return ways.get(thing); };
    const [a, b] = [way(one), way(other)], module = thing => !this.isOpen(thing) || !this.boxes[-1 - thing].isGroup;
    let n = 0;
    while (a[n] === b[n] && n < a.length - 1 && n < b.length - 1) n++;
    return [a.slice(n).find(module) ?? one, b.slice(n).find(module) ?? other];
  }
  /** The lines that are drawn, each for the edges between two modules or things: the first that reads a value stands for all. */
  connect() {
    const wanted = [];
    for (let e = 0; e < this.edgeCount + this.ways.size; e++) {
      const a = this.from[e], b = this.to[e];
      if (this.isWanted(e) && !this.hidden[a] && !this.hidden[b] && this.stands[a] !== this.stands[b] && !this.isLate(a, b)) wanted.push(e);
    }
    this.bundles = new Map(); this.drawnEnds = new Map(); this.pairs = new Map();
    const kind = e => this.layers[e] & -this.layers[e];
    for (const { pair, ends, edges } of this.bundled(wanted)) {
      const e = edges.reduce((a, b) => kind(b) < kind(a) ? b : a);
      this.bundles.set(e, edges); this.drawnEnds.set(e, ends); this.pairs.set(e, pair);
    }
    const lines = [...this.bundles.keys()];
    this.lines = Int32Array.from(this.implied || lines.length > 1000 ? lines : this.withoutImplied(lines));
    this.routes = new Map();
    this.back = new Set(this.lines.filter(e => this.isBack(e)));
    this.joinMutual();
  }
  /** One line with two heads for things that wait for each other. */
  joinMutual() {
    const byEnds = new Map([...this.lines].map(e => [this.ends(e).join(), e])), joined = new Set();
    this.mutual = new Set();
    for (const e of this.back) {
      const [one, other] = this.ends(e), forward = byEnds.get([other, one].join());
      if (forward === undefined || this.back.has(forward)) continue;
      this.bundles.set(forward, [...this.bundle(forward), ...this.bundle(e)]);
      this.mutual.add(forward); joined.add(e);
    }
    if (joined.size) this.lines = this.lines.filter(e => !joined.has(e));
  }
  /** Whether a line leads against the others: what waits is drawn before what it waits for, as modules may wait for each other. */
  isBack(e) {
    const [one, other] = this.ends(e), around = new Set([one, ...this.outward(this.box(one)).map(b => -1 - b)]), inner = [other, ...this.outward(this.box(other)).map(b => -1 - b)];
    const last = inner.find(thing => this.box(thing) === 0 || around.has(-1 - this.box(thing))), first = [...around].find(thing => this.box(thing) === this.box(last));
    return first !== undefined && this.where.get(first).number < this.where.get(last).number;
  }
  /** Edges by the modules or things that they join: those of two modules together, from one thing where they have it in common. */
  bundled(wanted) {
    const bundles = new Map(), byEnds = new Map(), ways = new Map(), first = this.boxes.length, all = first + this.count;
    for (const e of wanted) {
      const ends = [this.stands[this.from[e]], this.stands[this.to[e]]], key = (ends[0] + first) * all + ends[1] + first;
      let bundle = byEnds.get(key);
      if (!bundle) {
        const pair = wanted.length <= BUNDLED ? this.apart(...ends, ways) : ends, name = pair.join();
        bundle = bundles.get(name);
        if (!bundle) bundles.set(name, bundle = { pair, ends, edges: [] });
        else bundle.ends = ends.map((thing, n) => thing === bundle.ends[n] ? thing : pair[n]);
        byEnds.set(key, bundle);
      }
      bundle.edges.push(e);
    }
    return [...bundles.values()];
  }
  /** The lines without those that others imply: of boxes as they are drawn, and between modules those that read no value. */
  withoutImplied(lines) {
    const reads = e => this.layerNames(e)[0] === "reference";
    const kept = this.notLed(lines, e => this.ends(e), e => this.ends(e).some(thing => thing < 0));
    return this.notLed(kept, e => this.pairs.get(e), e => this.pairs.get(e).some(thing => thing < 0) && !reads(e));
  }
  /** The lines without those that may be left out because a longer way leads between their ends; all where some form a cycle. */
  notLed(lines, ends, isFree) {
    const near = new Map([...this.where.keys()].map(thing => [thing, []])), waiting = new Map();
    for (const e of lines) { const [a, b] = ends(e); near.get(a).push(b); waiting.set(b, (waiting.get(b) || 0) + 1); }
    const free = [...near.keys()].filter(thing => !waiting.get(thing));
    for (const thing of free) for (const other of near.get(thing)) { waiting.set(other, waiting.get(other) - 1); if (!waiting.get(other)) free.push(other); }
    return free.length < near.size ? lines : lines.filter(e => !isFree(e) || !leads(near, ...ends(e)));
  }
}
