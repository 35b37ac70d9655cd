// What an operator reads while a change of the configuration is not in use.

import { sentence } from "./api.js";
import { app } from "./state.js";
import { html, icon } from "./view.js";

// Mistake says what is wrong with the file, and what holds meanwhile.
export const Mistake = () => html`<div class="strip calm mistake" role="status">${icon("triangle-alert", "bad")}<span class="grow"><b>The last change of troupe.yaml is not in use.</b> ${sentence(app.me.mistake)} Until the file can be used, Troupe goes on with the settings from before.</span></div>`;
