// The graph of one view: its nodes, boxes and edges, and the ways between nodes.
"use strict";
const CAUSES = 12; // values that are causes, or those of the root module, up to which all of them are drawn among the changes
const SMALL = 400; // changed nodes up to which all ways between shown nodes are found
const KNOWN = 50; // nodes whose readers are kept
const WAYS = 130000; // edges through hidden nodes at most
const OWN_WAYS = 2000; // further ones of the chosen node
const DRAWN_WAYS = 2000; // further ones between what is drawn
const INSTANCE_KEYS = /\[(?:"(?:\\.|[^"\\])*"|\d+)\]/g; // of instances
const STEP = / \((?!deposed )[a-z]+(?:,? \w+)*\)$/; // at the end of a vertex's name: which of several it is for an object
const VERTEX = /, whose vertex is .*$/; // in a reason: the vertex has the name of its object here
const DEPOSED = / \(\w+ (deposed \w+)\)$/;
const TYPED = /^((?:(?:data|ephemeral)\.)?[\w-]+)\.(.+)$/; // the label of a resource, an output, a variable
let data, IMPLIED, REFERENCE, colourOf, signOf, wordsOf;

const BY_RISK = ["replace", "delete", "forget", "update", "create", "read"];
/** The place of an action in lists and grids: what destroys or has failed comes first. */
const rank = action => rankOf(colourOf.get(action));
const rankOf = colour => (BY_RISK.indexOf(colour) + BY_RISK.length + 1) % (BY_RISK.length + 1);
/** The parts of an object's vertices, by their kind. */
const PARTS = { module_expand: "begins", module_close: "ends", provider_close: "ends", resource_close: "ends" };
const INTERNAL = /^(root|provider|provider_close|resource_close|module_expand|module_close|variable_reference)$/;
const NUMERIC = new Intl.Collator("en", { numeric: true });

/** Begin with this document. */
function take(document) {
  data = document;
  IMPLIED = 1 << data.layers.length;
  REFERENCE = 1 << data.layers.findIndex(([name]) => name === "reference"); // the bit of edges that read a value
  colourOf = new Map(data.actions.map(([action, colour]) => [action, colour]));
  signOf = new Map(data.actions.map(([action, , sign]) => [action, sign]));
  wordsOf = new Map(data.actions.map(([action, , , words]) => [action, words]));
}
take(JSON.parse(document.getElementById("data").textContent));

/** The value of a key in a map, made if it is not there. */
function kept(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}
const byChange = new WeakMap(); // by table of the document: {change: its entry}
/** The entry of a change in a table of the document; undefined if it has none. */
function entryOf(table, change) {
  if (!table) return undefined;
  if (!byChange.has(table)) byChange.set(table, new Map(Object.entries(table).map(([n, entry]) => [data.changes[n], entry])));
  return byChange.get(table).get(change);
}
/** The former address of an object that was moved; "" for others. */
const formerOf = change => entryOf(data.moved, change) || "";
/** Whether a change destroys an object that holds data. */
const losesData = change => entryOf(data.holds_data, change) !== undefined;
let movedBy = { data: null, of: null };
/** The place of the moved block that moves an object; "" if none does. */
function placeOfMove(change) {
  if (movedBy.data !== data) movedBy = { data, of: new Map((data.moved_blocks || []).flatMap(([where, numbers]) => numbers.map(n => [data.changes[n], where]))) };
  return movedBy.of.get(change) || "";
}
/** The text of a change in which a search looks. */
const soughtIn = change => `${change[0]} ${formerOf(change)} ${placeOfMove(change)}`;
/** The nodes and edges of a view, by number. A thing is a node, or a box as -1 minus its number. */
class Graph {
  constructor(view) {
    this.view = view;
    const { nodes, edges, boxes } = view, room = WAYS + OWN_WAYS + DRAWN_WAYS;
    const filled = (array, values) => { array.set(values); return array; };
    this.count = nodes.name.length;
    this.edgeCount = edges.from.length; // behind them are ways through hidden nodes
    this.from = filled(new Int32Array(this.edgeCount + room), edges.from);
    this.to = filled(new Int32Array(this.edgeCount + room), edges.to);
    this.layers = filled(new Uint8Array(this.edgeCount + room), edges.layers);
    this.out = index(this.count, edges.from); // edges to what a node waits for
    this.in = index(this.count, edges.to);
    this.readers = index(this.count, edges.reads[1]).map(those => those.map(n => edges.reads[0][n])); // by edges that are left out
    this.sources = index(this.count, edges.reads[0]).map(those => those.map(n => edges.reads[1][n]));
    this.boxes = boxes.map(([name, label, parent, columns]) => ({ name, label, parent, columns, size: 0, changed: 0, objects: new Set(), distinct: new Set(), calm: 0, outputs: 0, values: 0, causes: 0, tally: new Map(),
      isInstances: label.endsWith("[*]"), isFamily: /, .*\*/.test(name) && !label.endsWith("[*]"), isGroup: name !== label && !name.endsWith(`.${label}`) })); // of things by type or name, not a module
    this.hidden = new Uint8Array(this.count);
    this.action = Array.from({ length: this.count }, (_, n) => actionOf(this.changes(n)));
    this.twins = this.declarations();
    this.elsewhere = new Map(); // whether other instances of a module read a value of a resource
    this.knownReaders = new Map(); // by the nodes whose values are read
    const all = Object.keys(nodes.causes || {}).map(Number), causes = all.filter(n => !this.twins[n]);
    this.byDeclaration = new Map(all.filter(n => this.twins[n]).map(n => [this.shown(n), this.causes(n)]));
    const values = causes.filter(n => !this.action[n]), ofRoot = values.filter(n => !moduleOf(this.shown(n))), few = [values, ofRoot].find(those => those.length <= CAUSES) || [];
    this.causing = new Set([...causes.filter(n => this.action[n]), ...few]); // the nodes that are drawn as causes
    this.nodeOf = new Map(); // by address of a change
    for (let n = 0; n < this.count; n++) {
      for (const change of this.changes(n)) if (!this.nodeOf.has(change[0])) this.nodeOf.set(change[0], n);
      for (let b = nodes.box[n]; b >= 0; b = this.boxes[b].parent) {
        const box = this.boxes[b];
        box.size++;
        if (this.action[n]) box.changed++;
        if (this.causing.has(n)) box.causes++;
        if (this.isCalm(n)) box.calm++;
        if (this.isOutput(n)) box.outputs++;
        if (/^(root_variable|module_variable|local)$/.test(this.kind(n))) box.values++;
        for (const number of nodes.changes[n] || []) { box.objects.add(number); if (data.changes[number][1] !== "no-op") box.distinct.add(number); }
      }
    }
    for (const { distinct, tally } of this.boxes) for (const number of distinct) { // an object may have several nodes
      const [, action] = data.changes[number];
      if (signOf.has(action)) tally.set(action, (tally.get(action) || 0) + 1);
    }
    for (const box of this.boxes) box.tally = new Map([...box.tally].sort(([a], [b]) => rank(a) - rank(b)));
  }
  /** The nodes of resources beside those of their objects, and those that read variables beside the ones that have their values. */
  declarations() {
    const twins = new Uint8Array(this.count), objects = new Set();
    if (data.noun !== "node") return twins;
    const isTwin = n => this.kind(n) === "variable_reference" || this.kind(n) === "resource" && this.view.name === "apply";
    for (let n = 0; n < this.count; n++) if (!isTwin(n)) objects.add(this.shown(n).replace(INSTANCE_KEYS, ""));
    for (let n = 0; n < this.count; n++) twins[n] = isTwin(n) && objects.has(this.shown(n).replace(INSTANCE_KEYS, ""));
    return twins;
  }
  /** The causes that a node contains, and their parts of its own name: [name, former value, value, where, line]. */
  causes(node) { return (this.view.nodes.causes?.[node] || []).map(n => data.causes[n][0]); }
  /** The causes whose numbers are at a node: its own, or those of its declaration that set it off, where that is not drawn. */
  causesShown(node) {
    if (this.causing.has(node)) return this.isOld(node) ? this.causes(node).filter(cause => this.changes(node).some(change => change[3].includes(cause) && isForced(change, one => one === cause))) : this.causes(node);
    const declared = this.byDeclaration.get(this.shown(node).replace(INSTANCE_KEYS, "")) || [];
    return declared.filter(cause => this.changes(node).some(([, , , causes]) => causes.includes(cause)));
  }
  /** The causes of what is done with the objects of a node, without those that it contains; for the old object of a replacement those that require the replacement. */
  effectOf(node) {
    const own = new Set(this.causesShown(node)), isOf = (change, cause) => !this.isOld(node) || isForced(change, one => one === cause);
    return [...new Set(this.changes(node).filter(([, action]) => signOf.has(action)).flatMap(change => change[3].filter(cause => !own.has(cause) && isOf(change, cause))))];
  }
  ownCause(node) { return (this.view.nodes.causes?.[node] || []).flatMap(n => data.causes[n][1]).find(([name]) => name === this.shown(node)) || null; }
  /** Whether a node is created only because it is new in the configuration. */
  isOwnCause(node) { return colourOf.get(this.action[node]) === "create" && this.changes(node).every(([address, , , causes]) => causes.every(cause => cause.startsWith(`${address}: `))); }
  /** The numbers of a node's changes by action, the most dangerous first. */
  actions(node) {
    const tally = byKey(this.changes(node).filter(([, action]) => signOf.get(action)), ([, action]) => action);
    return [...tally].map(([action, those]) => [action, those.length]).sort(([a], [b]) => rank(a) - rank(b));
  }
  /** Whether several things are done with the objects of a node, or something with only some of them. */
  isMixed(node) { const actions = this.actions(node); return !this.isOld(node) && (actions.length > 1 || actions.length === 1 && this.changes(node).some(([, action]) => !signOf.get(action))); }
  text(number) { return data.strings[number]; }
  /** Whether an object of a node was moved. */
  isMoved(node) { return !this.isOld(node) && this.changes(node).some(change => formerOf(change)); }
  /** The name of a vertex, as commands have it. */
  name(node) { return this.text(this.view.nodes.name[node]); }
  /** The name of a node's object, for people. */
  shown(node) { return data.noun === "node" ? this.name(node).replace(DEPOSED, this.isOld(node) ? "" : " ($1)").replace(STEP, "") : this.name(node); }
  label(node) { return this.text(this.view.nodes.label[node]); }
  kind(node) { return this.text(this.view.nodes.kind[node]); }
  about(node) { return this.text(this.view.nodes.about[node]); }
  changes(node) { return (this.view.nodes.changes[node] || []).map(n => data.changes[n]); }
  placeOf(node) { return data.places[this.view.nodes.place[node]]; }
  title(thing) { return thing >= 0 ? this.name(thing) : this.boxes[-1 - thing].name; }
  /** Whether a node destroys the old object of a replacement. */
  isOld(node) { return /^(instance|deposed)_destroy$/.test(this.kind(node)) && colourOf.get(this.action[node]) === "replace"; }
  /** Whether one of two nodes destroys the old object after its replacement was created, and the other is elsewhere: as
   * this comes last, modules would wait for each other. */
  isLate(...nodes) { return this.home[nodes[0]] !== this.home[nodes[1]] && nodes.some((node, n) => this.kind(node) === "deposed_destroy" && this.isOld(node) && !this.outward(this.home[nodes[1 - n]]).includes(this.home[node])); }
  /** The part of a node in what is done with its object, where several nodes have its name; "" for the main one. */
  part(node) { return this.isOld(node) ? "old object" : this.twins[node] ? (this.kind(node) === "resource" ? "declaration" : "reference") : PARTS[this.kind(node)] || ""; }
  /** Whether a node only ends something; nothing is done with it. */
  isEnd(node) { return data.noun === "node" && /^(root|\w+_close)$/.test(this.kind(node)); }
  /** Whether a node is no object for people: the graph needs it, or it has another node of the same name beside it. */
  isInternal(node) { return data.noun === "node" && (this.twins[node] === 1 || INTERNAL.test(this.kind(node))); }
  /** Whether a node is a resource, or an object, that the plan does not change. */
  isCalm(node) { return data.noun === "node" && /^(resource|instance_\w+)$/.test(this.kind(node)) && !this.twins[node] && !this.changes(node).length; }
  isOutput(node) { return data.noun === "node" && /output/.test(this.kind(node)); }
  /** Whether a node destroys an object: its own, or the old one of a replacement. */
  isDestroyed(node) { return this.isOld(node) || !this.isMixed(node) && colourOf.get(this.action[node]) === "delete"; }
  /** The other vertices of a replacement: of the old object and of the new one. */
  halves(node) {
    const [number, ...more] = this.view.nodes.changes[node] || [];
    if (number === undefined || more.length || colourOf.get(this.action[node]) !== "replace") return [];
    if (!this.replaced) {
      this.replaced = new Map();
      for (let n = 0; n < this.count; n++) for (const one of colourOf.get(this.action[n]) === "replace" && !this.twins[n] ? this.view.nodes.changes[n] : []) this.replaced.set(one, [...this.replaced.get(one) || [], n]);
    }
    return this.replaced.get(number).filter(other => other !== node);
  }
  /** The place of a thing among others by its most dangerous action. */
  risk(thing) { return thing >= 0 ? rank(this.action[thing]) : Math.min(BY_RISK.length, ...[...this.boxes[-1 - thing].tally.keys()].map(rank)); }
  find(name) {
    for (let n = 0; n < this.count; n++) if (this.name(n) === name) return n;
    const b = this.boxes.findIndex(box => box.name === name && name);
    return b < 0 ? null : -1 - b;
  }

  /** The name of a node in a sentence with another one, in which the old and the new object have different names. */
  nameBeside(node, other) {
    const name = this.shown(node), isHalf = name === this.shown(other) && this.isOld(node) !== this.isOld(other);
    return this.isOld(node) ? `the old ${name}` : isHalf ? `the new ${name}` : name;
  }
  /** The object of a node in a sentence with another one. */
  aboutBeside(node, other) { return this.about(node) === this.shown(node) ? this.nameBeside(node, other) : this.about(node); }
  /** Why an edge is there: [{rule, reason, places}]. */
  reasons(edge) {
    const a = this.from[edge], b = this.to[edge];
    const names = { "\x01": this.nameBeside(a, b), "\x02": this.nameBeside(b, a), "\x03": this.aboutBeside(a, b), "\x04": this.aboutBeside(b, a) };
    return [this.view.edges.grounds[edge]].flat().map(number => {
      const [rule, reason, places] = data.grounds[number];
      return { rule: this.text(rule), places: places.map(n => data.places[n]),
        reason: this.text(reason).replace(VERTEX, "").replace(/[\x01-\x04]/g, mark => names[mark]) };
    });
  }
  layerNames(edge) { return data.layers.filter((_, n) => this.layers[edge] >> n & 1).map(([name]) => name); }

  /** Whether an edge reads a value before anything else. */
  isReference(edge) { const bits = this.layers[edge]; return (bits & -bits) === REFERENCE; }

  /** Edges for the ways between shown nodes that lead through hidden ones only: `ways` has the edges of each. */
  findWays() {
    this.ways = new Map(); this.between = new Map(); this.drawnNames = null;
    this.needed = new Set(); // edges that others imply, but only through hidden nodes
    this.wayCount = 0; this.isCut = false; this.isSmall = true; this.own = null; this.isFiltered = false;
    if (!this.onlyChanged && !this.hidden.includes(1)) return;
    const reached = this.reached(), behind = this.behind(reached);
    let toCauses = 0; // more of them are not drawn where there are many
    const pairs = [], near = new Map(); // what a node waits for as it is drawn
    for (let a = 0; a < this.count && pairs.length < WAYS; a++) {
      if (this.hidden[a]) continue;
      const direct = new Map(this.out[a].map(e => [this.to[e], e]));
      near.set(a, [...direct].filter(([c, e]) => !this.hidden[c] && !(this.layers[e] & IMPLIED)).map(([c]) => c));
      const seen = new Set([a, ...near.get(a)]);
      for (const e of this.steps(a)) for (const c of behind(e)) {
        if (seen.has(c) || pairs.length >= WAYS || this.isUnaffected(a, c)) continue;
        if (behind.isFiltering && this.causing.has(c) && !this.action[c] && ++toCauses > CAUSING + 1) continue;
        seen.add(c); near.get(a).push(c);
        pairs.push([a, c, e, direct.get(c)]);
      }
    }
    this.isSmall = (this.onlyChanged ? this.boxes[0].changed : near.size) <= SMALL;
    for (const [a, c, first, edge] of pairs) {
      if (this.isSmall && leads(near, a, c)) continue;
      if (edge !== undefined) { this.needed.add(edge); continue; }
      const edges = [first];
      for (let at = this.to[first]; at !== c; at = this.to[edges.at(-1)]) edges.push(reached[at].get(c));
      this.addWay(a, c, edges);
    }
    this.wayCount = this.ways.size;
    this.isCut = pairs.length >= WAYS;
  }
  /** A function that returns the shown nodes behind an edge: in large graphs without those in other instances of the module of its
   * node to which only values lead that are computed for all instances together. */
  behind(reached) {
    const known = new Map(), isFiltering = this.onlyChanged && this.boxes[0].changed > SMALL && this.isQuiet("module");
    const isReading = (at, c) => { for (; at !== c; at = this.to[reached[at].get(c)]) if (!this.isReference(reached[at].get(c))) return false; return true; };
    const found = edge => {
      const at = this.to[edge], calls = this.calls(this.from[edge]);
      if (!reached[at]) return [];
      if (!isFiltering || !this.isReference(edge)) return reached[at].keys();
      const key = calls.number * this.count + at;
      if (!known.has(key)) known.set(key, [...reached[at].keys()].filter(c => bound(calls, this.calls(c)) !== null || !isReading(at, c) || this.isReadElsewhere(c)));
      this.isFiltered ||= known.get(key).length < reached[at].size;
      return known.get(key);
    };
    return Object.assign(found, { isFiltering });
  }
  isQuiet(layer) { const n = data.layers.findIndex(([name]) => name === layer); return n >= 0 && !(this.visible >> n & 1); }
  /** Whether other instances of its module read a value of a node. All instances of a resource are alike in this. */
  isReadElsewhere(node) {
    if (this.elsewhere.has(node)) return this.elsewhere.get(node);
    const name = bare(this.shown(node));
    if (!this.elsewhere.has(name)) this.elsewhere.set(name, [...this.readersOf([node])].some(reader => bound(this.calls(reader), this.calls(node)) === null));
    this.elsewhere.set(node, this.elsewhere.get(name));
    return this.elsewhere.get(name);
  }
  addWay(from, to, edges) {
    const e = this.edgeCount + this.ways.size, isNode = data.noun === "node";
    let name = "reference"; // a value only passes where all edges read
    for (const x of edges) if (name !== "destroy" && !(isNode ? this.isRead(x) : this.isReference(x))) {
      const layer = this.isReference(x) ? "destroy" : this.layerNames(x)[0];
      if (layer === "destroy" || layer === "order" || isNode) name = layer === "destroy" ? layer : "order";
    }
    this.from[e] = from; this.to[e] = to; this.layers[e] = name === "reference" ? REFERENCE : 1 << data.layers.findIndex(([layer]) => layer === name);
    this.ways.set(e, edges);
    return e;
  }
  /** In a large graph, find the ways of a node and of its other half to the nearest shown nodes, those to which no other of
   * these leads: `own` has their edges, and the numbers of those for which there is no room, by `isOut`. Other ways of this kind are
   * forgotten. */
  findOwnWays(node) {
    if (this.isSmall) return;
    for (let e = this.edgeCount + this.wayCount; this.ways.delete(e); e++);
    this.own = { node, edges: new Set(), cut: { true: 0, false: 0 } };
    for (const half of [node, ...this.halves(node)]) for (const isOut of [true, false]) this.findNearest(half, isOut);
  }
  findNearest(node, isOut) {
    const far = isOut ? this.to : this.from, near = isOut ? this.from : this.to, next = at => isOut ? this.out[at] : this.in[at];
    const known = new Map([...this.ways.keys()].filter(e => near[e] === node).map(e => [far[e], e])), by = new Map([[node, -1]]);
    for (const at of by.keys()) {
      if (at !== node && !this.hidden[at]) continue;
      for (const e of isOut ? this.steps(at) : next(at).filter(x => !(this.layers[x] & IMPLIED))) if (!by.has(far[e])) by.set(far[e], e);
    }
    const shown = [...by.keys()].filter(other => other !== node && !this.hidden[other]), behind = new Set(shown.flatMap(at => next(at).map(e => far[e])));
    for (const at of behind) for (const e of next(at)) behind.add(far[e]);
    for (const other of shown) {
      if (behind.has(other) || near[by.get(other)] === node || this.isUnaffected(...(isOut ? [node, other] : [other, node]))) continue;
      if (known.has(other)) { this.own.edges.add(known.get(other)); continue; }
      if (this.ways.size >= this.wayCount + OWN_WAYS) { this.own.cut[isOut]++; continue; }
      const edges = [];
      for (let at = other; at !== node; at = near[by.get(at)]) edges.push(by.get(at));
      this.own.edges.add(isOut ? this.addWay(node, other, edges.reverse()) : this.addWay(other, node, edges));
    }
  }
  /** The edges of a node that no others imply, those that read a value first: they say most. */
  steps(node) {
    const reads = [], others = [];
    for (const e of this.out[node]) if (!(this.layers[e] & IMPLIED)) (this.isReference(e) ? reads : others).push(e);
    return others.length ? [...reads, ...others] : reads;
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

  /** Whether an edge passes on a value, or the existence of an object: not only the order, and not for an old object. */
  isRead(e) {
    this.reading ||= new Int8Array(this.edgeCount); // 1 or -1 as soon as it is known
    return (this.reading[e] ||= this.passes(e) ? 1 : -1) > 0;
  }
  passes(e) {
    if (data.noun !== "node") return true;
    const from = this.from[e], to = this.to[e];
    if (/_destroy$/.test(this.kind(from)) || /_destroy$/.test(this.kind(to))) return false;
    if (this.kind(to) === "module_expand" || this.layers[e] & REFERENCE) return true;
    return !this.isEnd(from) && this.isOwnStep(e);
  }
  /** Whether an edge leads from one vertex of an object to another one of it. */
  isOwnStep(e) { return bare(this.shown(this.from[e])) === bare(this.shown(this.to[e])); }
  /** What depends on a node: the nodes that read its value, directly or through others, and those that only wait for it. */
  blast(node) {
    const reads = this.readersOf([node, ...this.halves(node)]), waits = new Set(reads);
    for (const at of waits) for (const e of this.in[at]) waits.add(this.from[e]);
    return { reads, waits: new Set([...waits].filter(other => !reads.has(other) && !this.isEnd(other))) };
  }
  /** The nodes that read a value of these, directly or through others. A vertex of a declaration stands for all instances
   * of its module, so the instance from which the way comes is kept: another one does not read the value. `isBarred`: whether
   * the way from a node to one that reads it is left out. */
  readersOf(nodes, isBarred = null) {
    const key = nodes.join();
    if (!isBarred && this.knownReaders.has(key)) return this.knownReaders.get(key);
    const found = new Set(nodes), known = new Set(), waiting = nodes.map(node => [node, this.calls(node)]);
    for (let at = 0; at < waiting.length; at++) {
      const [node, calls] = waiting[at];
      for (const [around, others] of this.directReaders(node)) {
        const within = bound(around, calls);
        for (const other of within ? others : []) {
          const state = within.number * this.count + other;
          if (known.has(state) || isBarred?.(node, other)) continue;
          known.add(state); found.add(other); waiting.push([other, within]);
        }
      }
    }
    if (isBarred) return found;
    if (this.knownReaders.size >= KNOWN) this.knownReaders.clear();
    this.knownReaders.set(key, found);
    return found;
  }
  /** Whether a node may read only other values of a module than this one: it refers to the module as a whole. */
  readsModule(node, reader) {
    if (this.kind(node) === "module_close") return true;
    if (!this.isOutput(node) || !moduleOf(this.shown(node))) return false;
    this.wholeReads ||= [];
    this.wholeReads[reader] ||= new Set(this.out[reader].map(e => this.to[e]).filter(to => this.kind(to) === "module_close").map(to => this.shown(to)));
    return this.wholeReads[reader].has(moduleOf(this.shown(node)).slice(0, -1));
  }
  /** The nodes that certainly read a value of these, not only a module that contains it. */
  exactReaders(nodes) { return this.readersOf(nodes, (node, reader) => this.readsModule(node, reader)); }
  /** The drawn nodes that read a value of these, directly or through hidden ones. A way through the declaration of a drawn object is one through that object. */
  nearReaders(nodes) {
    const own = new Set(nodes), names = this.drawnNames ||= new Set([...this.hidden.keys()].filter(n => !this.hidden[n] && !this.twins[n]).map(n => bare(this.shown(n))));
    const isPassed = (at, reader) => this.twins[at] === 1 && names.has(bare(this.shown(at))) && bare(this.shown(at)) !== bare(this.shown(reader));
    return [...this.readersOf(nodes, (at, reader) => !own.has(at) && (!this.hidden[at] || isPassed(at, reader)))].filter(other => !own.has(other) && !this.hidden[other]);
  }
  /** The drawn nodes whose values these read, directly or through hidden ones; with `among` at most so many of these. */
  nearSources(nodes, among = null, most = Infinity) {
    const own = new Set(nodes), seen = new Set(nodes);
    for (const at of seen) if (own.has(at) || this.hidden[at]) for (const other of [...this.out[at].filter(e => this.isRead(e)).map(e => this.to[e]), ...this.sources[at]]) seen.add(other);
    const found = [];
    for (const other of seen) if (found.length < most && !own.has(other) && !this.hidden[other] && (!among || among.has(other)) && this.nearReaders([other]).some(reader => own.has(reader))) found.push(other);
    return found;
  }
  /** The nodes that read a value of one directly, by the modules around them. */
  directReaders(node) {
    this.byModules ||= [];
    return this.byModules[node] ||= [...byKey([...this.in[node].filter(e => this.isRead(e)).map(e => this.from[e]), ...this.readers[node]], other => this.calls(other))];
  }
  /** Whether a value is read along all of a line: not where the way leads from an instance of a module to another one. */
  isReadAlong(edge) {
    const edges = this.wayOf(edge) || [edge];
    let calls = this.calls(this.to[edges.at(-1)]);
    for (const e of [...edges].reverse()) {
      calls = calls && this.isRead(e) ? bound(this.calls(this.from[e]), calls) : null;
      if (calls === null) return false;
    }
    return true;
  }
  /** Whether an edge or a way joins different instances of a module, so that no value is read along it: through what these have in
   * common, or as an order that holds for all of them. */
  isBetweenInstances(edge) {
    if (this.between.has(edge)) return this.between.get(edge);
    const is = (this.wayOf(edge) !== undefined || !this.isReference(edge)) && bound(this.calls(this.from[edge]), this.calls(this.to[edge])) === null && !this.isReadAlong(edge);
    this.between.set(edge, is);
    return is;
  }
  /** The modules around a node, with their keys if it belongs to an instance. */
  calls(node) {
    this.around ||= [];
    return this.around[node] ||= numbered((MODULE.exec(this.shown(node))?.[0] || "").match(CALLED) || []);
  }
  /** The nearest changed nodes for which a node waits, or that wait for it, through nodes without changes. */
  nearestChanged(node, isOut) {
    const found = new Set([node]), near = [];
    for (const at of found) {
      if (at !== node && this.action[at] && !this.isInternal(at)) { near.push(at); continue; }
      for (const e of isOut ? this.out[at] : this.in[at]) if (!(this.layers[e] & IMPLIED)) found.add(isOut ? this.to[e] : this.from[e]);
    }
    return near;
  }
  /** All nodes for which a node waits, or that wait for it, and itself. */
  reaching(node, isOut) {
    const found = new Set([node]);
    for (const at of found) for (const e of isOut ? this.out[at] : this.in[at]) found.add(isOut ? this.to[e] : this.from[e]);
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
const CALLED = /module\.[^.[\s]+(?:\[(?:"(?:\\.|[^"\\])*"|[^\]])*\])?/g;
const bare = name => name.replace(INSTANCE_KEYS, "");
const NUMBERED = new Map(), BOUND = new Map();
/** Modules around something, with a number: the same list for the same modules, so that few are compared. */
function numbered(calls) {
  const key = calls.join(" ");
  if (!NUMBERED.has(key)) NUMBERED.set(key, Object.assign(calls, { number: NUMBERED.size }));
  return NUMBERED.get(key);
}
/** The modules around a node that is reached from others, with the keys of those; null if it belongs to other instances. Both are numbered. */
function bound(calls, from) {
  if (calls === from) return calls;
  const key = calls.number * 2 ** 26 + from.number;
  if (!BOUND.has(key)) BOUND.set(key, boundAnew(calls, from));
  return BOUND.get(key);
}
function boundAnew(calls, from) {
  const keys = [];
  let isShared = true;
  for (const [n, call] of calls.entries()) {
    isShared &&= n < from.length && bare(call) === bare(from[n]);
    if (isShared && call !== from[n] && call.includes("[") && from[n].includes("[")) return null;
    keys.push(isShared && !call.includes("[") ? from[n] : call);
  }
  return numbered(keys);
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
/** The action that a node is coloured by: the most dangerous one. */
function actionOf(changes) {
  return changes.map(([, action]) => action).filter(action => action !== "no-op" && action !== "").sort((a, b) => rank(a) - rank(b))[0] || "";
}
