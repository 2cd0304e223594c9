// The ways of edges in the drawing: around boxes, or straight where there are very many.
"use strict";
/** Straight from the left, or the top, of what waits to the right, or the foot, of what it waits for. */
function curved(scene, [one, other]) {
  const [ax, ay, aw, ah] = scene.area(one), [bx, by, bw, bh] = scene.area(other);
  const down = thing => scene.where.get(thing)?.isDown;
  if (ay >= by + bh && (down(one) && down(other) || ax < bx + bw)) {
    const bend = Math.max(12, (ay - by - bh) * 0.4);
    return [ax + aw / 2, ay, ax + aw / 2, ay - bend, bx + bw / 2, by + bh + bend, bx + bw / 2, by + bh];
  }
  const bend = Math.max(25, Math.abs(bx + bw - ax) * 0.4);
  return [ax, ay + ah / 2, ax - bend, ay + ah / 2, bx + bw + bend, by + bh / 2, bx + bw, by + bh / 2];
}
/** Between the boxes: along the columns or rows, through their gaps, out of boxes and into them. Each point is [x, y, whether the line arrives there downwards, whether it turns]. */
function routed(scene, [start, end], isApart = false) { // `isApart`: whether it is beside the lines from the same things
  const outer = thing => {
    const boxes = [scene.box(thing)];
    while (boxes.at(-1) > 0) boxes.push(scene.box(-1 - boxes.at(-1)));
    return boxes;
  };
  const around = new Set(outer(start)), common = outer(end).find(b => around.has(b)), shift = (Math.abs(end) * 7 % 9 - 4) * 1.1; // lines from one thing begin as one
  const points = [], isBeside = (box, n, other) => !box.isDown || box.bands[n].strip === box.bands[other].strip;
  const place = (isDown, along, across, turns = false) => points.push(isDown ? [across, along, true, turns] : [along, across, false, turns]);
  /** Through a column or row, at its gap nearest to where the line is. */
  const pass = (box, n, isBack) => {
    const band = box.bands[n], at = box.isDown ? 0 : 1, areas = band.things.map(thing => scene.area(thing));
    let now = points.at(-1)[at], best = null;
    const offer = where => { if (best === null || Math.abs(where - now) < Math.abs(best - now)) best = where; };
    const half = GAP / 2 - 2, far = GAP / 2 + 3; // farther beside the ends of a row, where there is room
    areas.forEach((area, i) => {
      const begin = area[at], finish = area[at] + area[at + 2], next = areas[i + 1];
      if (!i) offer(Math.min(now, begin - far));
      offer(next ? Math.max(finish + half, Math.min(now, next[at] - half)) : Math.max(now, finish + far));
    });
    const isBetween = areas.some((area, i) => areas[i + 1] && best > area[at] && best < areas[i + 1][at]);
    best = Math.abs(best - now) < 1 ? now : best + shift * (isBetween && GAP < 20 ? 0.5 : 1);
    place(box.isDown, isBack ? band.end : band.begin, best);
    place(box.isDown, isBack ? band.begin : band.end, best);
  };
  /** Out of the top of a box, beside its title. */
  const climb = (b, across, turns = false) => {
    const rect = scene.rect[b], beside = rect.x + scene.titleWidth(b) + ASIDE / 2;
    if (across >= beside) { place(true, rect.y, across, turns); return; }
    place(true, rect.y + scene.head(b), across, turns);
    place(true, rect.y + HEAD - 4, beside + shift);
    place(true, rect.y, beside + shift);
  };
  /** From a thing to the border of the box in the common one that has it, with the flow or against it. */
  const leave = (thing, isBack) => {
    let b = scene.box(thing), box = scene.boxes[b];
    let { number } = scene.where.get(thing);
    const [x, y, w, h] = scene.area(thing);
    const aside = isApart ? Math.min(22, (box.isDown ? w : h) / 4) : 0;
    place(box.isDown, isBack ? (box.isDown ? y : x) : (box.isDown ? y + h : x + w), (box.isDown ? x + w / 2 : y + h / 2) + aside);
    while (b !== common) {
      const home = scene.box(-1 - b), parent = scene.boxes[home], rect = scene.rect[b];
      const across = points.at(-1)[box.isDown ? 0 : 1], band = box.bands[number];
      place(box.isDown, isBack ? band.begin : band.end, across);
      if (box.isDown === parent.isDown) {
        for (let n = number + (isBack ? -1 : 1); box.bands[n] && isBeside(box, n, number); n += isBack ? -1 : 1) pass(box, n, isBack);
        const last = points.at(-1)[box.isDown ? 0 : 1];
        if (isBack && box.isDown) climb(b, last); else place(box.isDown, isBack ? rect.x : (box.isDown ? rect.y + rect.h : rect.x + rect.w), last);
      } else { // along the free space beside its column or row
        const beside = isBack ? band.begin - PAD / 2 + shift : band.end + PAD / 2 + shift;
        if (isBack && parent.isDown) climb(b, beside, true); else place(parent.isDown, isBack ? rect.x : (parent.isDown ? rect.y + rect.h : rect.x + rect.w), beside, true);
      }
      ({ number } = scene.where.get(-1 - b));
      b = home; box = parent;
    }
    return number;
  };
  const box = scene.boxes[common], last = leave(start, true), way = points.splice(0), first = leave(end, false);
  place(box.isDown, box.bands[first].end, points.at(-1)[box.isDown ? 0 : 1]);
  const [ax, ay] = way.at(-1);
  const rect = scene.rect[common], free = PAD / 2 + shift, [begin, finish] = [box.bands[last].begin - free, box.bands[first].end + free];
  if (first < last && isBeside(box, first, last)) for (let n = first + 1; n < last; n++) pass(box, n, false);
  else if (box.isDown) { // beside the strip, where need be over others, and down beside that of the end
    const [one, other] = [box.bands[first].strip, box.bands[last].strip], strip = box.strips[one];
    const beside = one === box.strips.length - 1 ? rect.x + rect.w - free : strip.x + strip.w + BETWEEN / 3 + 2 * shift;
    place(true, finish, points.at(-1)[0]);
    place(false, beside, finish);
    if (other !== one && other !== one + 1) {
      place(true, rect.y + scene.head(common) - 4 + shift, beside);
      place(false, box.strips[other].x - PAD / 2 + shift, rect.y + scene.head(common) - 4 + shift);
    }
    place(true, begin, points.at(-1)[0]);
    place(false, ax, begin);
  } else { // below all columns
    place(false, finish, points.at(-1)[1]);
    place(true, rect.y + rect.h - free, finish);
    place(false, begin, rect.y + rect.h - free);
    place(true, ay, begin);
  }
  place(box.isDown, box.bands[last].begin, box.isDown ? ax : ay);
  points.push(...way.reverse().map(([x, y], n) => [x, y, n ? way[n - 1][2] : box.isDown, n > 0 && way[n - 1][3] && "into"]));
  points.reverse();
  const route = points[0].slice(0, 2);
  for (let n = 1; n < points.length; n++) {
    const [x1, y1, isDown, turns] = points[n - 1], [x2, y2] = points[n];
    if (Math.abs(x1 - x2) + Math.abs(y1 - y2) < 0.5) continue;
    if (turns) { const corner = isDown === (turns === "into") ? [x2, y1] : [x1, y2]; route.push(...corner, ...corner, x2, y2); }
    else if (isDown) route.push(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
    else route.push((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
  }
  return route;
}
