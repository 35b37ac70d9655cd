// Draws the diagram that the page sends, and answers with its height. This document
// has no origin: it can reach nothing but the page's own static files.

import mermaid from "../lib/mermaid/mermaid.mjs";

const place = document.getElementById("place");
document.body.style.margin = "0";
let drawn = 0;

addEventListener("message", async ({ source, data }) => {
  if (source !== parent || typeof data?.text !== "string") return;
  try {
    mermaid.initialize({
      startOnLoad: false, layout: "dagre", securityLevel: "strict", htmlLabels: false, flowchart: { htmlLabels: false }, theme: data.theme === "dark" ? "dark" : "neutral",
      maxTextSize: 20_000, maxEdges: 300, suppressErrorRendering: true,
    });
    const { svg } = await mermaid.render("drawing" + ++drawn, data.text);
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    parsed.style.maxWidth = "100%";
    place.replaceChildren(document.importNode(parsed, true));
    parent.postMessage({ height: Math.ceil(place.getBoundingClientRect().height) + 8 }, "*");
  } catch (error) {
    parent.postMessage({ failed: String(error?.message ?? error).split("\n")[0] }, "*");
  }
});
parent.postMessage({ ready: true }, "*");
