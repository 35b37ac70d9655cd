// Light or dark, as the machine has it or as was chosen. Loaded before anything is
// drawn, so that the page does not flash.
(() => {
  let chosen = "";
  try {
    chosen = localStorage.getItem("theme") ?? "";
  } catch {
    // Without storage the machine's choice stands.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
