// The drawing of a graph: which boxes are folded, and where everything stands.
"use strict";
const NODE = 40, GAP = 16, BETWEEN = 76, BELOW = 46, PAD = 16, HEAD = 34, LETTER = 7.85, WIDEST = 360, WIDEST_BOX = 560, NARROWEST = 96, FOLDED = 34, MANY_INSTANCES = 40, CELL = 10;
const ABOVE = 8, ASIDE = 16; // room below and beside the title of an open box, where edges lead around it
const VALUES = 28; // letters of the former and the present value of a cause up to which they are drawn
const QUIET_FROM = 60; // nodes from which on edges that all have are hidden at first
const BOXES = 60; // things that a page begins with at most, if folding helps
const TANGLED = 10; // edges that it begins with at most, besides one for each thing
const ARRANGED = 30000; // changed nodes up to which a page arranges what is shown by the edges that are
const APART = 60; // things up to which groups of alike ones are not drawn as boxes
const APART_INSIDE = 100; // the same within a module
const INSTANCES_APART = 5; // instances of a resource from which on they are a box
const FAMILY = 10; // modules of a family from which on they are a box
const CAUSING = 12; // edges to causes up to which they are always drawn
const WRAPS = [1, 0.7, 0.5, 2, 4, 8]; // parts of the room at which wrapping rows is tried; more than all of it for what is huge anyway
const HUGE = 4; // windows beyond which rows need not be seen as a whole
const ROWS = 40; // the number of rows that are tried for things without edges
const canvas = document.getElementById("graph");

/** The colour and the text of a number of changes. */
const badge = ([action, number]) => [colourOf.get(action), `${signOf.get(action) || action} ${number}`];

class Scene extends Lines {
  constructor(view) {
    super(view);
    this.folded = new Uint8Array(this.boxes.length);
    this.x = new Float64Array(this.count); this.y = new Float64Array(this.count); this.w = new Float64Array(this.count);
    this.rect = this.boxes.map(() => ({ x: 0, y: 0, w: 0, h: 0, shown: false }));
    this.stands = new Int32Array(this.count); // the thing that is drawn for a node
    this.pins = new Set(); // nodes and boxes that are shown although they do not change
    const quiet = this.count > QUIET_FROM ? ["provider", "module"] : [];
    this.whole = new Set(); // boxes without changes whose contents are shown
    this.visible = data.layers.reduce((bits, [name], n) => quiet.includes(name) ? bits : bits | 1 << n, 0);
    this.implied = false;
    this.onlyChanged = data.noun === "node" && this.boxes.length > 0 && this.boxes[0].changed > 0;
    this.open();
  }
  /** The lines of a node's label: its type with its part, and its name with the sign of its action. */
  labelLines(node) {
    const label = data.noun === "node" ? this.label(node).replace(DEPOSED, this.isOld(node) ? "" : " ($1)").replace(STEP, "") : this.label(node), typed = data.noun === "node" && TYPED.exec(label);
    const part = this.part(node), sign = this.isOld(node) ? "-" : this.isMixed(node) ? "" : signOf.get(this.action[node]) || "";
    const [, before, after, , , elements] = this.causing.has(node) && !sign && this.ownCause(node) || [], values = elements && elements.length <= VALUES ? `  ${elements}` : before && after && before.length + after.length <= VALUES ? `  ${written(before, false)} \u2192 ${written(after, false)}` : "";
    return [[typed ? typed[1] : "", part, this.isMoved(node) ? "moved" : "", this.isDestroyed(node) && this.changes(node).some(losesData) ? "holds data" : ""].filter(text => text).join(", "), `${sign ? `${sign} ` : ""}${typed ? typed[2] : label}${values}`];
  }
  /** Colours and numbers of what is done with the objects of a node, if that differs. */
  badges(node) { return this.isMixed(node) ? this.actions(node).map(badge) : []; }
  /** The width of a node with its label. */
  nodeWidth(node) {
    const [type, name] = this.labelLines(node), [shown] = this.numbersOf(node), numbers = shown ? Math.ceil(1.3 * (2 + shown.length)) : 0, badges = this.badges(node).reduce((all, [, text]) => all + LETTER * text.length + 16, 0);
    return Math.min(WIDEST, Math.max(NARROWEST, 20 + Math.max(LETTER * (type.length + numbers), LETTER * name.length + badges)));
  }
  /** The numbers of the causes that a node contains, and of those of which it is an effect. */
  numbersOf(node, most = SHOWN_NUMBERS) { return kept(this.numbers ||= new Map(), `${most} ${node}`, () => [this.causesShown(node), this.effectOf(node)].map(causes => causeNumbers(causes, most))); }
  /** A box and those around it in which it is drawn, without the outermost. */
  outward(b) { return b > 0 ? [b, ...this.outward(this.homes[b])] : []; }
  /** The box in which a thing is drawn. */
  box(thing) { return thing >= 0 ? this.home[thing] : this.homes[-1 - thing]; }

  // -------------------------------------------------------------- folding

  foldAll(folded) {
    for (let b = 1; b < this.boxes.length; b++) this.folded[b] = folded;
    for (const box of this.boxes) box.plan = null;
  }
  /** Unfold one more level: the folded boxes that are drawn. Returns whether there are any. */
  unfoldLevel() {
    const closed = this.foldedBoxes();
    for (const b of closed) this.folded[b] = 0;
    for (const box of this.boxes) box.plan = null; // other rows may be seen larger
    return closed.length > 0;
  }
  /** The folded boxes that are drawn. */
  foldedBoxes() { return [...this.where.keys()].filter(thing => thing < 0).map(thing => -1 - thing).filter(b => this.folded[b] && !this.isEmpty(b)); }
  isShown(thing) {
    if (this.pins.has(thing) || this.whole.has(thing >= 0 ? this.view.nodes.box[thing] : this.boxes[-1 - thing].parent) && !this.twins[thing]) return true;
    return thing < 0 ? !this.onlyChanged || this.boxes[-1 - thing].changed + this.boxes[-1 - thing].causes > 0 : this.onlyChanged ? this.action[thing] !== "" || this.causing.has(thing) : !this.twins[thing] && !this.isEnd(thing);
  }
  contents(b) { return this.inside[b]; }
  /** Fold as many boxes as is needed for everything to be legible at once, and edges to be told apart. */
  open() {
    let before = null;
    for (const most of [BOXES, 40, 30, 20, 15, 10, 6, 4, 0]) {
      this.foldTo(most);
      if (before?.every((is, b) => is === this.folded[b]) && most) continue;
      before = this.folded.slice();
      this.place();
      const { w, h } = this.rect[0], isLegible = Math.min(canvas.clientWidth / w, canvas.clientHeight / h) > LEGIBLE;
      if (!isLegible && most) continue;
      this.connect();
      if (isLegible && this.lines.length <= this.where.size + TANGLED) return;
    }
  }
  /** Fold all boxes but the outer ones that leave at most so many things to be drawn; those in which objects are destroyed or replaced are unfolded first, the outer ones and the small ones before others. */
  foldTo(most) {
    this.settle();
    const byRisk = things => [...things].sort((a, b) => this.risk(a) - this.risk(b));
    this.foldAll(1);
    const depth = b => b > 0 ? 1 + depth(this.homes[b]) : 0, place = b => this.risk(-1 - b) <= rankOf("replace") ? depth(b) * this.boxes.length + this.contents(b).length : Number.MAX_SAFE_INTEGER;
    let waiting = [0], count = 1;
    while (waiting.length) {
      const b = waiting.shift(), alike = this.instancesBeside(b), inside = alike.flatMap(one => this.contents(one)), { isFamily, name, isInstances, tally } = this.boxes[b], isPart = isFamily || / to \d+$/.test(name) || isInstances && tally.size === 1 && [...tally.values()][0] > ALIKE; // many alike
      waiting = waiting.filter(one => !alike.includes(one));
      if (b && count > 1 && (isPart || count - alike.length + inside.length > most)) continue;
      for (const one of alike) this.folded[one] = 0;
      count += inside.length - alike.length;
      waiting = [...waiting, ...byRisk(inside.filter(thing => thing < 0)).map(thing => -1 - thing)].sort((a, c) => place(a) - place(c));
    }
  }
  /** A box, and the other instances of its module that are drawn beside it: one of them unfolded among folded ones looks special. */
  instancesBeside(b) {
    const outer = b > 0 ? this.homes[b] : 0, isInstance = one => outer > 0 && this.boxes[one].label.startsWith(`${this.boxes[outer].label}[`);
    return isInstance(b) ? this.contents(outer).filter(thing => thing < 0 && isInstance(-1 - thing)).map(thing => -1 - thing) : [b];
  }
  /** Unfold all boxes around nodes, and show them even if they do not change. `folded`: what is folded otherwise, where
   * what was revealed before is hidden again. Returns whether anything was arranged. */
  reveal(nodes, folded = null) {
    let was = false;
    if (folded && (this.pins.size || folded.some((is, b) => is !== this.folded[b]))) {
      was = true;
      this.folded.set(folded);
      if (this.pins.size) { this.pins.clear(); this.whole.clear(); this.settled = null; }
    }
    for (const node of nodes) {
      const hidden = !this.isShown(node);
      for (let b = node >= 0 ? this.view.nodes.box[node] : this.boxes[-1 - node].parent; b > 0; b = this.boxes[b].parent) {
        was ||= this.folded[b] === 1;
        this.folded[b] = 0;
        if (hidden) this.pins.add(-1 - b);
      }
      if (hidden) { this.pins.add(node); if (node < 0) this.whole.add(-1 - node); this.settled = null; was = true; }
    }
    if (was) this.arrange();
    return was;
  }

  // -------------------------------------------------------------- contents

  /** Determine what is shown, and in which box and layer: anew where only changes are shown, as few of many may be. */
  settle() {
    if (this.settled === this.onlyChanged) return;
    this.settled = this.onlyChanged;
    const before = this.inside || [];
    for (let n = 0; n < this.count; n++) this.hidden[n] = !this.isShown(n);
    this.findWays();
    this.home = Int32Array.from(this.view.nodes.box);
    this.homes = this.boxes.map(box => box.parent);
    this.apartCauses = this.manyEdged();
    const isGrouped = this.boxes.length > 0 && this.shownIn(0).some(thing => thing < 0 && this.boxes[-1 - thing].isGroup); // by type, though few may be shown
    const isAnew = this.onlyChanged ? this.boxes[0].changed <= ARRANGED : isGrouped && this.withoutGroups(this.shownIn(0)).length <= APART, sources = this.boxes.map((_, b) => this.source(b));
    this.inside = this.boxes.map((_, b) => {
      const those = this.shownIn(sources[b]), apart = isAnew ? this.withoutGroups(those) : those;
      return apart.length <= (b ? APART_INSIDE : APART) ? apart : those;
    });
    const drawn = this.boxes.length ? [0] : [];
    for (const b of drawn) for (const thing of this.inside[b]) if (thing >= 0) this.home[thing] = b; else { this.homes[-1 - thing] = b; drawn.push(-1 - thing); }
    this.boxes.forEach((box, b) => { if (before[b]?.join() !== this.inside[b].join()) box.plan = null; });
    const isApart = thing => this.apartCauses.has(thing);
    if (!isAnew) { this.layered = sources.map(b => this.boxes[b].columns.map(column => column.filter(thing => this.isShown(thing) && !isApart(thing) && !this.isInstance(thing)))); this.loose = this.inside.map(things => things.filter(thing => isApart(thing) || this.isInstance(thing))); return; }
    const pairs = this.lifted();
    this.loose = this.inside.map((things, b) => things.filter(thing => !pairs[b].has(thing)).sort((a, b) => this.risk(a) - this.risk(b) || NUMERIC.compare(this.title(a), this.title(b))));
    this.layered = this.inside.map((things, b) => layered(things.filter(thing => pairs[b].has(thing)), [...pairs[b]].flatMap(([thing, others]) => [...others].map(other => [thing, other]))));
  }
  /** The causes that do not change themselves if very many edges lead to them: they are a row of their own, and their edges are drawn for the chosen one. */
  manyEdged() {
    const causes = new Set(this.onlyChanged ? [...this.causing].filter(n => !this.action[n] && !this.pins.has(n)) : []);
    let edges = 0;
    for (let e = 0; e < this.edgeCount + this.ways.size && edges <= CAUSING; e++) if (causes.has(this.to[e]) && !this.hidden[this.from[e]] && (e >= this.edgeCount || !(this.layers[e] & IMPLIED) || this.needed.has(e))) edges++;
    return edges > CAUSING ? causes : new Set();
  }
  /** Whether a thing is one of many instances of a resource, of which none waits for another. */
  isInstance(thing) { return thing >= 0 && this.boxes[this.view.nodes.box[thing]].isInstances && !this.isOld(thing); }
  shownIn(b) { return this.boxes[b].columns.flat().filter(thing => this.isShown(thing)); }
  /** The box whose contents are drawn in a box: not a group that would be all that is in it. */
  source(b) {
    const [only, ...others] = this.shownIn(b);
    return !others.length && only < 0 && this.boxes[-1 - only].isGroup ? this.source(-1 - only) : b;
  }
  withoutGroups(things) { return things.flatMap(thing => thing < 0 && this.boxes[-1 - thing].isGroup && !this.isLarge(-1 - thing) ? this.withoutGroups(this.shownIn(-1 - thing)) : [thing]); }
  /** Whether a family has so many modules, or a resource so many instances, that they are drawn as a box. */
  isLarge(b) {
    if (this.boxes[b].isInstances) return new Set(this.nodesIn(b).filter(node => this.isShown(node)).map(node => this.shown(node))).size >= INSTANCES_APART;
    return this.boxes[b].isFamily && !/ to \d+$/.test(this.boxes[b].name) && this.modules(b, true) >= FAMILY;
  }
  nodesIn(b) { return this.boxes[b].columns.flat().flatMap(thing => thing >= 0 ? [thing] : this.nodesIn(-1 - thing)); }
  /** For each box the things in it that edges join, with those that they wait for. Of two that wait for each other, the one that reads a value comes later. */
  lifted() {
    const isQuiet = this.isQuiet("module"), found = this.boxes.map(() => new Map()), ways = this.boxes.map(() => null), reading = new Set();
    const outer = b => ways[b] ||= b > 0 ? [...outer(this.homes[b]), b] : [0];
    const at = (b, thing) => { if (!found[b].has(thing)) found[b].set(thing, new Set()); return found[b].get(thing); };
    for (let e = 0; e < this.edgeCount + this.ways.size; e++) {
      const a = this.from[e], b = this.to[e];
      if (a === b || this.hidden[a] || this.hidden[b] || !this.isWanted(e) || this.isLate(a, b) || isQuiet && this.isBetweenInstances(e)) continue;
      const one = outer(this.home[a]), other = outer(this.home[b]);
      let n = 1;
      while (n < one.length && one[n] === other[n]) n++;
      const [thing, dependency] = [n < one.length ? -1 - one[n] : a, n < other.length ? -1 - other[n] : b];
      at(one[n - 1], thing).add(dependency); at(one[n - 1], dependency);
      if (this.isReference(e)) reading.add(`${thing} ${dependency}`);
    }
    for (let old = 0; old < this.count; old++) { // it comes after what reads the new object, though other ways may imply this order
      if (this.hidden[old] || this.kind(old) !== "deposed_destroy" || !this.isOld(old)) continue;
      const box = this.home[old], [made] = this.halves(old);
      if (this.home[made] === box) for (const [thing, others] of found[box]) if (thing !== old && others.has(made)) at(box, old).add(thing);
    }
    for (const pairs of found) for (const [thing, others] of pairs) for (const other of others)
      if (pairs.get(other).has(thing) && reading.has(`${other} ${thing}`) && !reading.has(`${thing} ${other}`)) others.delete(other);
    return found;
  }

  // -------------------------------------------------------------- places

  /** Place everything anew: after folding, and when other nodes or edges are to be seen. */
  arrange() {
    this.place();
    this.connect();
  }
  place() {
    this.isFewThings = this.hidden.reduce((all, is) => all + (is ? 0 : 1), 0) <= FEW_THINGS;
    this.settle();
    this.order = []; // the columns and rows that are drawn, for those who walk through them
    this.where = new Map();
    for (const rect of this.rect) rect.shown = false;
    this.measure(0);
    this.put(0, 0, 0);
  }
  /** The size of a box, with room for its contents. Its rows or columns stay as they are until other things are in it. */
  measure(b) {
    const box = this.boxes[b], rect = this.rect[b];
    if (b && !this.isShown(-1 - b)) { rect.w = rect.h = 0; return; }
    const titled = b ? this.titleWidth(b) : 0;
    if (b && this.isClosed(b)) { rect.w = Math.min(WIDEST_BOX, titled); rect.h = FOLDED; return; }
    for (const thing of this.contents(b)) {
      if (thing < 0) this.measure(-1 - thing); else this.w[thing] = this.nodeWidth(thing);
    }
    const grid = this.loose[b].filter(thing => !this.apartCauses.has(thing)), alike = grid.filter(thing => thing >= 0 || this.isClosed(-1 - thing) && !this.boxes[-1 - thing].isInstances), cell = alike.reduce((most, thing) => Math.max(most, this.area(thing)[2]), box.plan?.cell || 0);
    for (const thing of grid) if (alike.includes(thing) || this.isOpen(thing)) this.setWidth(thing, Math.max(cell, this.area(thing)[2]));
    box.plan ||= { ...this.planned(b), cell };
    const [w, h] = this.lay(box, box.plan);
    rect.w = Math.max(w + 2 * PAD, b ? titled + ASIDE : 0);
    rect.h = h + this.head(b) + PAD;
  }
  /** The room above what is in a box: its title has it. */
  head(b) { return b ? HEAD + ABOVE : PAD; }
  isOpen(thing) { return thing < 0 && !this.isClosed(-1 - thing); }
  /** Whether a box has nothing that is shown: it is small, and neither folded nor open. */
  isEmpty(b) { return this.inside[b].length === 0; }
  isClosed(b) { return this.folded[b] === 1 || this.isEmpty(b); }
  setWidth(thing, width) { if (thing >= 0) this.w[thing] = width; else this.rect[-1 - thing].w = width; }
  /** The arrangement of a box that is seen largest: {isDown, parts: rows or columns, strips}. Things without edges are a
   * grid below or beside the others. */
  planned(b) {
    const box = this.boxes[b], room = canvas.clientWidth / LEGIBLE - 2 * PAD; // what a row may have for all of it to be seen
    const [width, height] = [canvas.clientWidth || 1.6, canvas.clientHeight || 1];
    const columns = this.layered[b].filter(things => things.length).map((things, layer) => ({ things, layer })), isApart = thing => this.apartCauses.has(thing), causes = this.loose[b].filter(isApart).sort((a, c) => NUMERIC.compare(causeNumbers(this.causes(a)), causeNumbers(this.causes(c))));
    const rows = part => columns.flatMap(({ things, layer }) => inRows(things, things.map(thing => this.area(thing)[2]), part * room, GAP).map(row => ({ things: row, layer })));
    let best = null;
    const offer = (plan, odd) => {
      const [w, h] = this.lay(box, plan), size = Math.max((w + 2 * PAD) / width, (h + this.head(b) + PAD) / height);
      const cost = Math.log(b ? size : Math.max(size, 1 / LARGE)) + (w > room + 1 ? size > HUGE ? 0.2 : 1 : 0) + odd;
      if (!best || cost < best.cost - 0.01) best = { plan, cost };
    };
    for (const [isDown, joined, odd] of [...WRAPS.map(part => [true, rows(part), Math.max(0, 0.1 - part / 10)]), [false, columns, 0.3]]) {
      const loose = this.loose[b].filter(thing => !isApart(thing)), length = loose.map(thing => this.area(thing)[isDown ? 2 : 3]), between = isDown ? GAP : CELL;
      const total = length.reduce((all, one) => all + one + between, -between), longest = Math.max(0, ...length);
      for (let n = 1; n <= Math.max(1, Math.min(loose.length, ROWS)); n++) {
        const limit = Math.max(total / n + (n > 1 ? longest / 2 : 0), longest);
        const grid = inRows(loose, length, limit + 1, between).map(things => ({ things, isGrid: true }));
        const first = inRows(causes, causes.map(thing => this.area(thing)[isDown ? 2 : 3]), isDown ? room : Number.MAX_VALUE, between).map(things => ({ things, isGrid: true, isCauses: true }));
        offer({ isDown, parts: [...first, ...joined, ...grid], strips: 1 }, odd);
      }
    }
    const { plan } = best;
    const odd = 1 / this.largest(box, b, plan) >= LEGIBLE ? 1 : 0.2; // one strip if it is legible
    for (let strips = 2; plan.isDown && columns.length && strips * strips <= 2 * plan.parts.length; strips++) offer({ ...plan, strips }, odd);
    return best.plan;
  }
  /** How many windows a plan of a box takes. */
  largest(box, b, plan) {
    const [w, h] = this.lay(box, plan);
    return Math.max((w + 2 * PAD) / (canvas.clientWidth || 1.6), (h + this.head(b) + PAD) / (canvas.clientHeight || 1));
  }
  /** Lay the rows or columns of a box out; their size together. */
  lay(box, { isDown, parts, strips }) {
    const most = (bands, name) => bands.reduce((all, band) => Math.max(all, band[name]), 0);
    const bands = parts.map(part => this.band(part)), joined = bands.filter(band => !band.isGrid);
    box.below = most(joined, "wide") > 2 * most(joined, "w") ? BELOW : 0.7 * BELOW;
    const usual = isDown ? box.below : BETWEEN;
    bands.forEach((band, at) => { band.gap = band.isGrid && bands[at + 1]?.isGrid && band.isCauses === bands[at + 1].isCauses ? (isDown ? CELL : GAP) : usual; });
    Object.assign(box, { isDown, bands, grid: bands.filter(band => band.isGrid) });
    const inStrips = this.inStrips(box, strips);
    return isDown ? inStrips : [bands.reduce((all, band) => all + band.w + band.gap, -usual), most(bands, "tall")];
  }
  /** A row or column with its size: that of all its things, and the largest of each. */
  band({ things, isGrid = false, isCauses = false, layer }) {
    const gap = isGrid ? CELL : GAP, band = { things, isGrid, isCauses, layer, tall: -gap, wide: -GAP, w: 0, h: 0 };
    for (const thing of things) {
      const [, , w, h] = this.area(thing);
      band.tall += h + gap; band.wide += w + GAP;
      band.w = Math.max(band.w, w); band.h = Math.max(band.h, h);
    }
    return band;
  }
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
  titleWidth(b) {
    const counts = this.counts(b), text = counts.length ? this.boxName(b) : this.boxTitle(b), [numbers] = this.isClosed(b) ? this.numbersInside(b) : [""];
    return counts.reduce((all, [, count]) => all + 1.1 * LETTER * count.length + 14, 26 + 1.1 * LETTER * (text.length + 2 + (numbers && numbers.length + 2)));
  }
  /** The numbers of the causes in a box, and of those outside of it that have effects in it, which it has while it is folded. */
  numbersInside(b, most = SHOWN_NUMBERS) {
    return kept(this.inner ||= new Map(), `${most} ${b}`, () => {
      const own = new Set(this.nodesIn(b).flatMap(node => this.causesShown(node))), effects = new Set(this.nodesIn(b).flatMap(node => this.effectOf(node)));
      return [[...own], [...effects].filter(cause => !own.has(cause))].map(causes => causeNumbers(causes, most));
    });
  }
  boxTitle(b) {
    const { size, objects, calm, outputs, isGroup } = this.boxes[b], counts = this.counts(b).map(([, text]) => text), number = data.noun === "node" ? objects.size + calm || (isGroup ? outputs : 0) : size;
    return [this.boxName(b), ...(counts.length || !number ? counts : [`(${number})`])].join("  ");
  }
  /** The name of a box as it is drawn; that of a family with the number of its modules, of an instance inside the box of its module only the key. */
  boxName(b) {
    const { isFamily } = this.boxes[b], label = this.boxLabel(b), outer = this.homes?.[b] > 0 ? this.boxLabel(this.homes[b]) : "";
    if (!isFamily) return outer && label.startsWith(`${outer}[`) ? label.slice(outer.length) : label;
    const [shown, all] = [true, false].map(isShown => this.modules(b, isShown));
    return `${label} (${shown < all ? `${shown} of ${all}` : all})`;
  }
  /** The label of a box; that of a range without repeating the words with which both ends begin. */
  boxLabel(b) {
    const [first, last] = this.boxes[b].label.split(" \u2013 ");
    if (last === undefined || first === last) return first;
    const [of, to] = [first, last].map(text => /^(.*)\[([^\]]+)\]$/.exec(text));
    if (of && to && of[1] === to[1]) return `${of[1]}[${of[2]} \u2013 ${to[2]}]`;
    let same = 0;
    while (first[same] === last[same]) same++;
    return `${first} \u2013 ${last.slice(/^(?:.*[^a-zA-Z0-9])?/.exec(last.slice(0, same))[0].length)}`;
  }
  /** The number of modules in a group, of all or those that are shown. */
  modules(b, isShown) {
    return this.boxes[b].columns.flat().filter(thing => thing < 0 && (!isShown || this.isShown(thing)))
      .reduce((all, thing) => all + (this.boxes[-1 - thing].isGroup ? this.modules(-1 - thing, isShown) : 1), 0);
  }
  /** Colours and numbers of the changes in a box. */
  counts(b) { return data.noun === "node" ? [...this.boxes[b].tally].map(badge) : []; }
  put(b, x, y) {
    const box = this.boxes[b], rect = this.rect[b];
    rect.x = x; rect.y = y; rect.shown = true;
    if (b && this.isClosed(b)) { this.standIn(b, -1 - b); return; }
    let left = x + PAD, top = y + this.head(b), strip = 0;
    const inner = box.strips.reduce((all, one) => all + one.w + BETWEEN, -BETWEEN);
    if (box.isDown) left = x + (rect.w - inner) / 2;
    const [gridWide, gridTall] = ["wide", "tall"].map(name => Math.max(0, ...box.grid.map(band => band[name])));
    box.bands.forEach((band, n) => {
      if (box.isDown && band.strip !== strip) {
        if (box.strips[strip]) left += box.strips[strip].w + BETWEEN;
        strip = band.strip; top = y + this.head(b);
      }
      let across = left, down = top;
      if (box.isDown) { across = left + (box.strips[strip].w - (band.isGrid ? gridWide : band.wide)) / 2; box.strips[strip].x = left; }
      else down = y + this.head(b) + (rect.h - this.head(b) - PAD - (band.isGrid ? gridTall : band.tall)) / 2;
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
  /** What is drawn in a box of the most dangerous change; null for nothing. */
  worst(b) {
    let found = null;
    for (const [thing] of this.where) {
      if (this.isOpen(thing) || b && !this.outward(this.box(thing)).includes(b)) continue;
      if (found === null || this.risk(thing) < this.risk(found)) found = thing;
    }
    return found;
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
      if (!this.isOpen(thing)) { if (inside(this.area(thing))) return thing; continue; }
      const [left, top, w] = this.area(thing);
      if (inside([left, top, w, HEAD - 4])) return thing; // the title of an open box
    }
    return null;
  }
}
