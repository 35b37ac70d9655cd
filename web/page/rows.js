// The body of a long table: only the rows in view are drawn, and all are as high as the
// first of them.

import { html, useLayoutEffect, useRef, useState } from "./view.js";

const perPiece = 8; // rows that come and go together

// Rows draws list by row, within whatever scrolls around its table.
export function Rows({ list, row }) {
  const [{ from, to, height }, setView] = useState({ from: 0, to: 3 * perPiece, height: 58 });
  const begin = Math.min(from, list.length), end = Math.max(begin, Math.min(to, list.length));
  const body = useRef(null);
  const held = useRef(null); // the row that the focus is in, and its place
  const drawn = () => [...(body.current?.querySelectorAll?.("tr[tabindex]") ?? [])];
  const hold = (row) => (held.current = row && { row, at: drawn().indexOf(row) + begin });
  const leave = ({ target }) => queueMicrotask(() => target.isConnected && !held.current?.row.contains(document.activeElement) && hold(null));
  // A row that goes, for it is deleted or scrolled away, leaves the focus to the one in its place.
  useLayoutEffect(() => {
    if (!held.current) return;
    const { row, at } = held.current;
    if (row.isConnected) hold(row);
    else if (document.activeElement === document.body) drawn()[Math.max(0, Math.min(at, end - 1) - begin)]?.focus({ preventScroll: true });
  });
  // The last of them leaves it to the heading of the list, or to that of what is there instead.
  useLayoutEffect(() => () => {
    if (!held.current?.row.contains(document.activeElement)) return;
    const table = body.current.closest("table"), place = table.parentElement, above = [...place.querySelectorAll("h2")].findLast((h) => h.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
    requestAnimationFrame(() => {
      const heading = above?.isConnected ? above : place.querySelector("h2");
      if (heading && document.activeElement === document.body) (heading.tabIndex = -1), heading.focus();
    });
  }, []);
  useLayoutEffect(() => {
    const box = body.current?.closest?.(".library");
    if (!box) return; // it is drawn nowhere
    const look = () => {
      const high = body.current.querySelector("tr[tabindex]")?.getBoundingClientRect().height || height;
      const above = box.getBoundingClientRect().top - body.current.getBoundingClientRect().top, piece = perPiece * high;
      const first = Math.max(0, Math.floor(above / piece) - 1) * perPiece, last = (Math.floor((above + box.clientHeight) / piece) + 2) * perPiece;
      setView((now) => (now.from === first && now.to === last && now.height === high ? now : { from: first, to: last, height: high }));
    };
    look();
    box.addEventListener("scroll", look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(box);
    return () => (box.removeEventListener("scroll", look), resized.disconnect());
  }, [list.length]);
  const gap = (rows) => html`<tr aria-hidden="true" class="gap"><td style=${{ height: rows * height + "px" }}></td></tr>`;
  return html`<tbody ref=${body} onFocusIn=${(e) => hold(e.target.closest("tr"))} onFocusOut=${leave}>${gap(begin)}${list.slice(begin, end).map((one, i) => row(one, begin + i))}${gap(list.length - end)}</tbody>`;
}
