// The panes beside the drawing: how wide they are, and whether they are shown.
"use strict";
const NARROW = 120, STEP_WIDTH = 32; // pixels: the least width of a pane, and of a step by keys
/** Let a handle change the width of its pane: `sign` is 1 where the pane is on its left. */
function widthBy(handle, pane, name, sign) {
  const set = width => {
    const most = Math.max(NARROW, document.body.clientWidth * 0.6), own = Math.round(Math.max(NARROW, Math.min(most, width)));
    $("page").style.setProperty(`--${name}`, `${own}px`);
    handle.setAttribute("aria-valuenow", own);
  };
  let from = null;
  handle.addEventListener("pointerdown", event => { from = { x: event.clientX, width: pane.offsetWidth }; handle.setPointerCapture(event.pointerId); event.preventDefault(); });
  handle.addEventListener("pointermove", event => { if (from) set(from.width + sign * (event.clientX - from.x)); });
  for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => { from = null; });
  handle.addEventListener("dblclick", () => $("page").style.removeProperty(`--${name}`));
  handle.addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(pane.offsetWidth + sign * step * STEP_WIDTH);
  });
}
widthBy($("sidehandle"), $("side"), "side", 1);
widthBy($("detailshandle"), $("details"), "details", -1);
for (const [id, without] of [["sideshown", "noside"], ["detailsshown", "nodetails"]])
  $(id).addEventListener("click", () => $(id).setAttribute("aria-pressed", String(!document.body.classList.toggle(without))));
