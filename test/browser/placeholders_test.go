package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// cutPlaceholders are the fields whose hint does not fit into them.
const cutPlaceholders = `all("input[placeholder], textarea[placeholder]").filter((e) => {
	if (e.value || !e.placeholder) return false;
	const style = getComputedStyle(e);
	if (e.matches("input")) {
		const pen = document.createElement("canvas").getContext("2d");
		pen.font = style.font;
		return pen.measureText(e.placeholder).width > e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 0.5;
	}
	const copy = e.cloneNode();
	copy.value = e.placeholder;
	Object.assign(copy.style, { position: "absolute", boxSizing: "border-box", height: e.offsetHeight + "px", width: e.offsetWidth + "px" });
	e.after(copy);
	const isCut = copy.scrollHeight > copy.clientHeight + 1;
	copy.remove();
	return isCut;
}).map((e) => Math.round(e.clientWidth) + " px: " + e.placeholder)`

// What a field is for can be read in it, on a phone too.
func TestHintsInFieldsAreReadWhole(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	long := "senior-product-manager-of-the-library"
	h := serve(t, project(t, map[string]string{"legal.json": legalSchema, "troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "agents:\n", "agents:\n  "+long+": {instructions: You are senior., tools: []}\n").Replace(configuration)}))
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(390, 844))
	b.sees(".agent", long)
	b.chooses(".ask select", long)
	for _, place := range []string{"home", "conversation"} {
		b.rests()
		if found := value[[]string](b, cutPlaceholders); len(found) > 0 {
			t.Errorf("%s of an agent with a long name: %v", place, found)
		}
		if place == "home" {
			b.click(".agent header button", long)
			b.sees(".beginning h2", long)
		}
	}
	inEveryView(t, func(b *tab) { b.do(chromedp.EmulateViewport(390, 844)) }, func(b *tab, view string) {
		b.t.Helper()
		b.rests()
		if found := value[[]string](b, cutPlaceholders); len(found) > 0 {
			b.t.Errorf("%s:\n%s", view, strings.Join(found, "\n"))
		}
	})
}
