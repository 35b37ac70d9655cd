import assert from "node:assert/strict";
import test from "node:test";
const { amount, spell, wholeNumber } = await import("../page/amount.js");

const meant = {
  "": "", 5: "5", "0.5": "0.5", ".5": "0.5", "0,5": "0.5", "0.125": "0.125", "0,125": "0.125", "7,50": "7.50", "1,5": "1.5", " $ 7.5 ": "7.5", "7 $": "7",
  "1,000,000": "1000000", "1.000.000": "1000000", "1,000.50": "1000.50", "1.000,50": "1000.50",
  "10 000": "10000", "10\u202f000": "10000", "10\u00a0000,5": "10000.5", "1'000.5": "1000.5", "12.3456": "12.3456", "1,2345": "1.2345", "1234.567": "1234.567",
};
const thousands = { "1,000": "1000", "1.000": "1000", "$12.500": "12500", "10,000": "10000" };

test("a number is what was typed, with the marks of thousands as the page writes them", () => {
  for (const [typed, value] of Object.entries({ ...meant, ...thousands })) assert.deepEqual(wholeNumber(typed), { value }, typed);
  for (const [typed, value] of Object.entries(meant)) assert.deepEqual(amount(typed), { value }, typed);
});

test("an amount of money that can be read in two ways is refused with both", () => {
  assert.deepEqual(amount("1.000"), { wrong: "“1.000” can be read as 1000 and as 1: write 1000, or 1.00." });
  assert.deepEqual(amount("$12,500"), { wrong: "“12,500” can be read as 12500 and as 12.5: write 12500, or 12.50." });
});

test("what is no number is left as it was typed, to be refused in its own words", () => {
  for (const typed of ["much", "1,00,000", "1,000.5.0", "1.000,5,0", "1,000,50", "1.5,0.5", "-1", "5 or 6", "1,", "1.", ",", "1 00", "0,100,000", "1,000 000"]) {
    assert.deepEqual(amount(typed), { value: typed }, typed);
    assert.deepEqual(wholeNumber(typed), { value: typed }, typed);
    assert.ok(!(Number(typed) > 0) || typed === "1.", typed);
  }
});

test("a time is what people write", () => {
  for (const [typed, value] of Object.entries({ "15 min": "15m", "1 h 30 min": "1h30m", "1 hour and 30 minutes": "1h30m", " 90 Sec ": "90s", "2 hrs, 5 mins": "2h5m", "15m": "15m", "1h30m": "1h30m", "": "", "two days": "two days", "15 min or so": "15 min or so" })) assert.deepEqual(spell(typed), { value }, typed);
});
