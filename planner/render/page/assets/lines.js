// The lines of a drawing: each for the edges between two modules or things.
"use strict";
const OBJECT = /resource|instance|deposed|orphan|data|destroy/; // the kinds of the nodes of objects
const LINKS = 60; // lines from a cause to what it sets off at most
const SETTING_OFF = 30; // such lines of all causes up to which they are drawn while none is chosen
const FEW_THINGS = 12; // things up to which all lines that read a value are drawn
const READ_LINES = 100, READ_NODES = 40; // lines, and nodes at one of their ends, up to which it is looked whether a value is read that they do not show
const BUNDLED = 200000; // edges up to which those between two modules are one line

class Lines extends Graph {
  /** The number of hidden objects through which a line leads, 0 if one of its edges does not. */
  hiddenBetween(e) {
    if (!this.ways.size) return 0;
    let least = Infinity;
    for (const one of this.bundle(e)) {
      const edges = this.wayOf(one) || [], names = new Set(edges.slice(0, -1).map(way => this.to[way]).filter(node => OBJECT.test(this.kind(node)) && !this.twins[node] && !this.isEnd(node)).map(node => this.shown(node)));
      for (const end of [this.from[one], this.to[one]]) names.delete(this.shown(end).replace(INSTANCE_KEYS, ""));
      least = Math.min(least, names.size);
      if (!least) return 0;
    }
    return least;
  }

  /** The edges of a way through hidden nodes; undefined for an edge of the graph. */
  wayOf(e) { return this.ways.get(e) || this.drawnWays?.get(e); }
  isWanted(e) { return !this.isUnaffected(this.from[e], this.to[e]) && !this.apartCauses?.has(this.to[e]) && this.layers[e] & this.visible && (!(this.layers[e] & IMPLIED) || this.implied || this.needed.has(e) || this.ownOrders.has(e) || this.isFewThings && this.isReference(e)); }
  /** The edges between the old and the new object of replacements, which are drawn also where others imply them. */
  get ownOrders() {
    if (this.knownOrders) return this.knownOrders;
    const found = this.knownOrders = new Set();
    for (let n = 0; n < this.count; n++) if (this.isOld(n)) for (const e of [...this.in[n], ...this.out[n]]) if (this.halves(n).some(other => other === this.from[e] || other === this.to[e])) found.add(e);
    return found;
  }
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
    this.findDrawnWays();
    wanted.push(...[...this.drawnWays.keys()].filter(e => this.isWanted(e)));
    this.bundles = new Map(); this.drawnEnds = new Map(); this.pairs = new Map();
    const kind = e => this.layers[e] & -this.layers[e];
    this.isWithoutShared = this.isFiltered;
    this.hidesImplied = false;
    if (!this.implied && !this.view.is_reduced) for (let e = 0; e < this.edgeCount && !this.hidesImplied; e++) this.hidesImplied = (this.layers[e] & IMPLIED) > 0 && !this.isWanted(e) && this.isReference(e) && !this.hidden[this.from[e]] && !this.hidden[this.to[e]] && this.stands[this.from[e]] !== this.stands[this.to[e]];
    for (const { pair, ends, edges } of this.bundled(wanted)) {
      if (this.isQuiet("module") && this.isShared(edges)) { this.isWithoutShared = true; continue; }
      const e = edges.reduce((a, b) => kind(b) < kind(a) ? b : a);
      this.bundles.set(e, edges); this.drawnEnds.set(e, ends); this.pairs.set(e, pair);
    }
    const lines = [...this.bundles.keys()];
    this.lines = Int32Array.from(this.implied || lines.length > 1000 ? lines : this.withoutImplied(lines));
    this.routes = new Map();
    this.back = new Set(this.lines.filter(e => this.isBack(e)));
    this.joinMutual();
    const ordered = data.noun === "node" && this.lines.length <= READ_LINES ? [...this.lines].filter(e => !this.isReference(e)) : [], reads = one => this.isReference(one) && this.isReadAlong(one);
    this.effectThings = null;
    this.readLines = new Set(ordered.filter(e => this.bundle(e).some(reads) || this.readsOf(...this.ends(e), 1).length || this.mutual.has(e) && this.readsOf(...[...this.ends(e)].reverse(), 1).length)); // others may imply their edges that read
    this.findLinks();
  }
  /** The drawn nodes of a thing that read a value of those of another one, directly or through hidden ones, as [reader, source]. At most so many, and none of two large boxes. */
  readsOf(one, other, most) {
    const inside = thing => thing >= 0 ? [thing] : this.nodesIn(-1 - thing).filter(node => !this.hidden[node]), [readers, sources] = [inside(one), inside(other)], found = [];
    if (Math.min(readers.length, sources.length) > READ_NODES) return found;
    const isFew = readers.length <= sources.length, far = new Set(isFew ? sources : readers);
    for (const near of isFew ? readers : sources) for (const node of isFew ? this.nearSources([near], far, most) : this.nearReaders([near])) {
      if (far.has(node)) found.push(isFew ? [near, node] : [node, near]);
      if (found.length >= most) return found;
    }
    return found;
  }
  /** Whether edges only join instances of a module through what these have in common: what waits reads no value of the others, also not by other ways. */
  isShared(edges) {
    return edges.every(e => this.isBetweenInstances(e) && !(this.isReference(e) && this.isReadElsewhere(this.to[e])));
  }
  /** A way for each two drawn things that hidden nodes join, where there was no room for the ways of all nodes. */
  findDrawnWays() {
    this.drawnWays = new Map();
    if (!this.isCut) return;
    const known = new Map(), isLast = node => this.kind(node) === "deposed_destroy" && this.isOld(node);
    const plain = node => this.out[node].filter(e => !(this.layers[e] & IMPLIED));
    const reached = start => { // the drawn things behind a hidden node, with the first edge on the way to each
      for (const stack = [start]; stack.length;) {
        const at = stack.at(-1);
        if (!known.has(at)) {
          known.set(at, null);
          for (const e of plain(at)) if (this.hidden[this.to[e]] && !known.has(this.to[e])) stack.push(this.to[e]);
          continue;
        }
        stack.pop();
        if (known.get(at)) continue;
        const found = new Map();
        for (const e of plain(at)) for (const thing of this.hidden[this.to[e]] ? (known.get(this.to[e]) || found).keys() : isLast(this.to[e]) ? [] : [this.stands[this.to[e]]]) if (!found.has(thing)) found.set(thing, e);
        known.set(at, found);
      }
      return known.get(start);
    };
    const seen = new Set(), first = this.boxes.length, all = first + this.count;
    for (let a = 0; a < this.count && this.drawnWays.size < DRAWN_WAYS; a++) {
      if (this.hidden[a] || isLast(a)) continue;
      for (const e of plain(a)) for (const thing of this.hidden[this.to[e]] ? reached(this.to[e]).keys() : []) {
        const key = (this.stands[a] + first) * all + thing + first;
        if (thing === this.stands[a] || seen.has(key) || thing >= 0 && this.isUnaffected(a, thing)) continue;
        if (this.drawnWays.size >= DRAWN_WAYS) return;
        seen.add(key);
        const edges = [e];
        while (this.hidden[this.to[edges.at(-1)]]) edges.push(known.get(this.to[edges.at(-1)]).get(thing));
        const way = this.edgeCount + WAYS + OWN_WAYS + this.drawnWays.size, reads = edges.every(one => data.noun === "node" ? this.isRead(one) : this.isReference(one));
        this.from[way] = a; this.to[way] = this.to[edges.at(-1)];
        this.layers[way] = reads ? REFERENCE : this.layers[edges[0]] & -this.layers[edges[0]];
        this.drawnWays.set(way, edges);
      }
    }
  }
  /** What each cause sets off, as [thing, cause]; of causes that are not drawn apart, only what no arrow joins with anything. Very many are not drawn: the numbers of causes at the objects say the same. */
  findLinks() {
    this.links = [];
    const all = this.apartCauses.size || !this.onlyChanged ? this.apartCauses : [...this.causing].filter(node => !this.action[node]), causes = [...all].filter(node => !this.hidden[node]).sort((a, b) => NUMERIC.compare(causeNumbers(this.causes(a)), causeNumbers(this.causes(b))));
    const starts = causes.map(cause => this.startsOf(this.effects(cause), [cause])).filter(own => own.length).map(own => this.joined(own));
    for (const own of starts) this.links.push(...own.filter(([thing, cause]) => thing >= 0 || !this.outward(this.home[cause]).includes(-1 - thing))); // it is inside
    this.hasManyLinks = this.links.length > SETTING_OFF;
    if (this.hasManyLinks) this.links = [];
    if (this.apartCauses.size) return;
    const joined = new Set([...this.lines].flatMap(e => this.bundle(e)).flatMap(e => [this.stands[this.from[e]], this.stands[this.to[e]]]));
    this.links = this.links.filter(([thing]) => !joined.has(thing));
  }
  /** One line to a box instead of those to all that it shows; of modules in it, a line to a part of each is enough. */
  joined(links) {
    const targets = new Set(links.map(([thing]) => thing)), around = new Set(links.flatMap(([, cause]) => this.outward(this.home[cause]))), found = [], isModule = thing => thing < 0 && !this.boxes[-1 - thing].isGroup;
    const reaches = thing => targets.has(thing) || this.isOpen(thing) && this.contents(-1 - thing).some(reaches);
    const collect = thing => {
      const inside = this.isOpen(thing) ? this.contents(-1 - thing).filter(one => one < 0 ? this.boxes[-1 - one].changed : this.action[one] && !this.isOld(one)) : []; // without what only contains causes
      if (thing !== -1 && !around.has(-1 - thing) && inside.length > 1 && inside.every(one => targets.has(one) || isModule(one) && inside.every(isModule) && reaches(one))) found.push(thing);
      else if (this.isOpen(thing)) inside.forEach(collect);
      else if (targets.has(thing)) found.push(thing);
    };
    collect(-1);
    const rank = new Map(links.map(([thing], at) => [thing, at]));
    return found.sort((one, other) => (rank.get(one) ?? -1) - (rank.get(other) ?? -1)).map(thing => [thing, links[0][1]]);
  }
  /** Whether a line leads from a cause to something that reads it and that it changes, or that contains such a thing. */
  isEffect(e) {
    const [thing, cause] = this.ends(e);
    if (!(this.isReference(e) || this.readLines.has(e)) || !this.causing.has(cause)) return false;
    this.effectThings ||= new Map();
    if (!this.effectThings.has(cause)) this.effectThings.set(cause, new Set(this.effects(cause).filter(node => !this.hidden[node]).flatMap(node => [this.stands[node], ...this.outward(this.home[node]).map(b => -1 - b)])));
    return this.effectThings.get(cause).has(thing);
  }
  /** The nodes that a cause sets off. */
  effects(cause) {
    this.byCause ||= this.nodesByCause();
    return [...new Set(this.causes(cause).flatMap(name => this.byCause.get(name) || []))];
  }
  /** Whether an edge leads from a change to a value that is a cause, but not of this change. */
  isUnaffected(from, to) {
    if (!this.action[from] || this.action[to] || !this.causing.has(to) || data.noun !== "node" || this.isOwnCause(from)) return false;
    this.affected ||= new Map();
    if (!this.affected.has(to)) this.affected.set(to, new Set(this.effects(to)));
    return !this.affected.get(to).has(from);
  }
  /** Whether a drawn change reads a value that is a cause, but not of this change. */
  hasUnaffected() {
    for (const to of this.causing) if (!this.hidden[to] && !this.action[to]) for (const e of this.in[to]) if (!this.hidden[this.from[e]] && this.isReference(e) && this.isUnaffected(this.from[e], to)) return true;
    return false;
  }
  nodesByCause() {
    const found = new Map();
    for (let n = 0; n < this.count; n++) for (const [, , , causes] of this.changes(n)) for (const name of causes) { if (!found.has(name)) found.set(name, []); found.get(name).push(n); }
    return found;
  }
  /** The nodes that a cause sets off directly: its value reaches them through none of the others. */
  firstEffects(cause) {
    this.firsts ||= new Map();
    if (!this.firsts.has(cause)) {
      const effects = new Set(this.effects(cause).filter(node => node !== cause && !this.twins[node])), name = node => bare(this.shown(node)), names = new Set([...effects].map(name));
      const isBarred = (node, reader) => effects.has(node) || names.has(name(node)) && name(node) !== name(reader); // the vertex of a declaration leads to its objects
      this.firsts.set(cause, [...this.readersOf([cause], isBarred)].filter(node => effects.has(node)));
    }
    return this.firsts.get(cause);
  }
  /** Lines from causes to what they set off, as [thing, cause], the most dangerous first: to all that they set off directly, and to
   * the others to which no drawn line leads that reads a value from one of these nodes to another. */
  startsOf(nodes, causes) {
    const own = new Set(nodes.filter(node => !this.hidden[node] && !this.isOld(node))), sources = new Map(causes.map(cause => [this.stands[cause], cause]));
    const things = [...new Set([...own].map(node => this.stands[node]))].filter(thing => !sources.has(thing)), after = new Map([...things, ...sources.keys()].map(thing => [thing, new Set()])), waiting = new Set();
    for (const cause of causes) own.add(cause);
    for (const e of this.lines) for (const one of this.bundle(e)) {
      const from = this.from[one], to = this.to[one], a = this.stands[from], b = this.stands[to];
      if (a === b || !own.has(from) || !own.has(to) || !after.has(a) || !after.has(b) || data.noun === "node" && !this.isReference(one)) continue;
      after.get(b).add(a); waiting.add(a);
    }
    const pairs = [], reached = new Set(), spread = thing => {
      const found = [thing];
      for (const one of found) if (!reached.has(one)) { reached.add(one); found.push(...after.get(one)); }
    };
    const add = (thing, source) => { if (pairs.length < LINKS) pairs.push([thing, source]); spread(thing); };
    things.sort((one, other) => this.risk(one) - this.risk(other));
    for (const [source, cause] of sources) {
      spread(source);
      const first = new Set(this.firstEffects(cause).filter(node => own.has(node)).map(node => this.stands[node]));
      for (const thing of things) if (first.has(thing) && !after.get(source).has(thing)) add(thing, source);
    }
    const [source] = sources.keys();
    for (const thing of [...things.filter(one => !waiting.has(one)), ...things]) if (!reached.has(thing)) add(thing, source);
    return pairs;
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
    const reads = e => this.isReference(e);
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
