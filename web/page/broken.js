// Why an agent cannot start.

import { app } from "./state.js";

// brokenWords says why an agent cannot start: lacks is the file that is missing, if one is.
export const brokenWords = (lacks) => `${lacks ? `${lacks} is missing.` : "Something that it is made of is missing or wrong."}${app.me.operator ? "" : " Ask whoever runs Troupe."}`;
