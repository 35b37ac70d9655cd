// Loaded before anything is drawn: light or dark, as the machine has it or as was
// chosen, so that the page does not flash; and what the address asks for is fetched at
// once, not when the modules before it have been read.
(() => {
  let chosen = "";
  try {
    chosen = JSON.parse(localStorage.getItem("troupe.theme") ?? '""');
  } catch {
    // Without storage the machine's choice stands.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  const talk = ["room.js", "session.js", "fold.js", "conversation.js", "turns.js", "prose.js", "lib/marked.js", "composer.js", "draft.js"];
  const home = ["home.js", "tabbar.js", "draft.js", "models.js", "lib/icons-more.js"];
  const here = document.currentScript.src.replace(/early\.js$/, "");
  for (const file of location.hash.startsWith("#/s/") ? talk : home) {
    document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href: here + file }));
  }
  if (!location.hash.startsWith("#/s/")) document.head.append(Object.assign(document.createElement("link"), { rel: "preload", as: "style", href: here + "views.css" }));
})();
