// Draws the diagram that the page sends, and answers with its size. This document
// has no origin: it can reach nothing but the page's own static files.

import mermaid from "../lib/mermaid/mermaid.mjs";

// The page's own colours: this document cannot ask for them.
const colours = {
  light: { primaryColor: "#dfece6", primaryBorderColor: "#1f5b4e", primaryTextColor: "#241f19", lineColor: "#6d6356", secondaryColor: "#f1ece2", tertiaryColor: "#faf7f1", background: "#fffefb", edgeLabelBackground: "#fffefb" },
  dark: { primaryColor: "#1c352d", primaryBorderColor: "#85c9b3", primaryTextColor: "#f0e9dd", lineColor: "#a89d8d", secondaryColor: "#2b2620", tertiaryColor: "#181511", background: "#211d18", edgeLabelBackground: "#211d18", darkMode: true },
};

const place = document.getElementById("place");
document.body.style.margin = "0";
const least = 12 / 14; // how small a drawing may become: what has no room is scrolled to
let drawn = 0;

addEventListener("message", async ({ source, data }) => {
  if (source !== parent || typeof data?.text !== "string") return;
  const own = colours[data.theme === "dark" ? "dark" : "light"];
  document.documentElement.style.background = own.background; // a frame stands on white otherwise
  try {
    mermaid.initialize({
      startOnLoad: false, layout: "dagre", securityLevel: "strict", htmlLabels: false, flowchart: { htmlLabels: false }, theme: "base", themeVariables: { ...own, fontSize: "14px", fontFamily: "system-ui, sans-serif", useGradient: false, dropShadow: "none" },
      maxTextSize: 20_000, maxEdges: 300, suppressErrorRendering: true,
    });
    const { svg } = await mermaid.render("drawing" + ++drawn, data.text);
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    // Between a line and the words on it there is some ground.
    for (const box of parsed.querySelectorAll(".edgeLabel rect")) Object.assign(box.style, { fill: own.background, opacity: "1", stroke: own.background, strokeWidth: "8px", strokeLinejoin: "round" });
    for (const box of parsed.querySelectorAll(".node rect")) box.setAttribute("rx", Math.max(9, box.getAttribute("rx")));
    const width = (parsed.viewBox?.baseVal?.width || 600) * (data.scale || 1);
    if (data.scale) Object.assign(parsed.style, { width: width + "px", maxWidth: "none", display: "block" });
    else Object.assign(parsed.style, { maxWidth: `min(100%, ${width}px)`, minWidth: width * least + "px" });
    place.style.overflowX = data.scale ? "" : "auto";
    place.style.textAlign = "center";
    place.replaceChildren(document.importNode(parsed, true));
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
    parent.postMessage({ width: Math.ceil(width), height: Math.ceil(place.getBoundingClientRect().height) + 8 }, "*");
  } catch (error) {
    parent.postMessage({ failed: String(error?.message ?? error) }, "*");
  }
});
parent.postMessage({ ready: true }, "*");
