// The drawing and the changes as files, and a link to what is chosen.
"use strict";
/** Of the drawing context what painting uses, as the elements of an SVG. */
class Vectors {
  constructor() { this.parts = []; this.way = ""; this.globalAlpha = 1; this.dash = []; }
  beginPath() { this.way = ""; }
  moveTo(x, y) { this.way += `M${round(x)} ${round(y)}`; }
  lineTo(x, y) { this.way += `L${round(x)} ${round(y)}`; }
  bezierCurveTo(...numbers) { this.way += `C${numbers.map(round).join(" ")}`; }
  rect(x, y, w, h) { this.way += `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`; }
  roundRect(x, y, w, h) { this.rect(x, y, w, h); }
  setLineDash(dash) { this.dash = dash; }
  fill() { this.add("path", { d: this.way, fill: this.fillStyle }); }
  stroke() { this.add("path", { d: this.way, fill: "none", stroke: this.strokeStyle, "stroke-width": round(this.lineWidth), ...(this.dash.length ? { "stroke-dasharray": this.dash.join(" ") } : {}) }); }
  fillRect(...area) { this.way = ""; this.rect(...area); this.fill(); }
  strokeRect(...area) { this.way = ""; this.rect(...area); this.stroke(); }
  fillText(text, x, y, room) {
    const [, weight, size] = /^(\d+ )?([\d.]+)px/.exec(this.font);
    const condensed = text.length * size * LETTER_OF > room ? { textLength: round(room), lengthAdjust: "spacingAndGlyphs" } : {};
    this.add("text", { x: round(x), y: round(y + size * 0.35), fill: this.fillStyle, "font-size": round(+size), ...(weight ? { "font-weight": weight.trim() } : {}), ...condensed }, text);
  }
  add(tag, properties, text = "") {
    if (tag === "path" && !properties.d) return;
    const all = { ...properties, ...(this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {}) };
    this.parts.push(`<${tag}${Object.entries(all).map(([name, value]) => ` ${name}="${plain(String(value))}"`).join("")}>${plain(text)}</${tag}>`);
  }
}
const round = number => Math.round(number * 10) / 10;
const plain = text => text.replace(/[&<>"\x00-\x08\x0b-\x1f]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] || " ");

function svgText() {
  const { w, h } = scene.rect[0], vectors = new Vectors();
  for (const _ of drawing.paintOn(vectors, 1, 0, 0, w, h));
  return `<svg xmlns="http:${"//"}www.w3.org/2000/svg" viewBox="0 0 ${round(w)} ${round(h)}" width="${round(w)}" height="${round(h)}" ` +
    `font-family="ui-monospace, monospace" xml:space="preserve"><title>${plain(document.title)}</title>${vectors.parts.join("\n")}</svg>\n`;
}
const LARGEST = 8000; // pixels of a picture's longer side
function picture() {
  const { w, h } = scene.rect[0], k = Math.min(2, LARGEST / Math.max(w, h, 1)), image = document.createElement("canvas");
  image.width = Math.max(1, w * k); image.height = Math.max(1, h * k);
  const context = image.getContext("2d");
  context.setTransform(k, 0, 0, k, 0, 0);
  for (const _ of drawing.paintOn(context, k, 0, 0, w, h));
  return new Promise(done => image.toBlob(done, "image/png"));
}
function save(content, type, ending) {
  const link = el("a", { href: URL.createObjectURL(new Blob([content], { type })), download: `${document.title.replace(/[^\w.-]+/g, "-")}.${ending}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  say(`Saved as ${link.download}.`);
  closeMenus(null);
}
async function copyLink() {
  try { await navigator.clipboard.writeText(location.href); say(typeof isReport === "undefined" ? "The link is copied." : "The link is copied. It works on this machine until the server stops."); closeMenus(null); } catch { say(`The link: ${location.href}`); }
}
$("exports").replaceChildren(
  button("SVG", () => save(svgText(), "image/svg+xml", "svg")),
  button("PNG", async () => save(await picture(), "image/png", "png")),
  button("Markdown", () => save(markdown(), "text/markdown", "md")),
  button("Copy link", copyLink));
