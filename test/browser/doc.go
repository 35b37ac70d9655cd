// Package browser tests the page in a real browser: the program as it is built, a
// project on disk, and Chromium, which is told what to do as a person would. The
// models are rehearsals or servers whose every word the tests say.
//
// Each run leaves pictures of the main views in test-results, for people to look at.
package browser
