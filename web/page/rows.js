// The body of a long table: only the rows in view are drawn, and all are as high as the
// first of them.

import { html, useLayoutEffect, useRef, useState } from "./view.js";

const perPiece = 8; // rows that come and go together

// Rows draws list by row, within whatever scrolls around its table.
export function Rows({ list, row }) {
  const [{ from, to, height }, setView] = useState({ from: 0, to: 3 * perPiece, height: 57 });
  const body = useRef(null);
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
  const begin = Math.min(from, list.length), end = Math.max(begin, Math.min(to, list.length));
  const gap = (rows) => html`<tr aria-hidden="true" class="gap"><td style=${{ height: rows * height + "px" }}></td></tr>`;
  return html`<tbody ref=${body}>${gap(begin)}${list.slice(begin, end).map((one, i) => row(one, begin + i))}${gap(list.length - end)}</tbody>`;
}
