package web

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A weight is how much text an element holds, spaces aside.
type weight struct {
	text, prose int // prose is text that is not a link's
	titles      int // h1 elements
}

// readable returns the element of a page that holds its content: a landmark that
// the page names, or else the smallest container of most of its prose. What
// surrounds the content is taken out of the page.
func readable(doc *html.Node) *html.Node {
	body := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Body })
	if body == nil {
		return doc
	}
	weights := make(map[*html.Node]weight)
	weigh(body, false, weights)
	prune(body, weights, weights[body].text/2)
	clear(weights)
	weigh(body, false, weights)

	top := body
	for _, landmark := range []func(*html.Node) bool{isMain, isArticle} {
		if n := only(body, landmark); n != nil && 4*weights[n].prose >= weights[body].prose {
			top = n
			break
		}
	}
	prose := weights[top].prose
	if 2*prose < weights[top].text {
		return top // a page of links
	}
	for next := top; next != nil; {
		top, next = next, nil
		for n := range top.ChildNodes() {
			if isContainer(n) && 10*weights[n].prose >= 7*prose && weights[n].titles == weights[top].titles {
				next = n
			}
		}
	}
	return top
}

// weigh fills in the weights of the elements below n.
func weigh(n *html.Node, linked bool, weights map[*html.Node]weight) weight {
	var w weight
	if n.Type == html.TextNode {
		for _, c := range []byte(n.Data) {
			if c > ' ' {
				w.text++
			}
		}
		if !linked {
			w.prose = w.text
		}
		return w
	}
	linked = linked || n.DataAtom == atom.A
	for child := range n.ChildNodes() {
		below := weigh(child, linked, weights)
		w.text, w.prose, w.titles = w.text+below.text, w.prose+below.prose, w.titles+below.titles
	}
	if n.DataAtom == atom.H1 {
		w.titles++
	}
	if n.Type == html.ElementNode {
		weights[n] = w
	}
	return w
}

// prune takes out what nobody reads, and what looks like clutter and holds less
// text than the limit: a guess that would cost most of the page is a wrong one.
func prune(n *html.Node, weights map[*html.Node]weight, limit int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.CommentNode || child.Type == html.ElementNode && (isUnseen(child) || isClutter(child) && weights[child].text <= limit) {
			n.RemoveChild(child)
		} else {
			prune(child, weights, limit)
		}
		child = next
	}
}

func isUnseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas,
		atom.Audio, atom.Video, atom.Button, atom.Input, atom.Select, atom.Textarea, atom.Datalist, atom.Link, atom.Meta:
		return true
	}
	style := strings.ReplaceAll(strings.ToLower(attr(n, "style")), " ", "")
	return has(n, "hidden") || attr(n, "aria-hidden") == "true" ||
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

var (
	clutterRoles = []string{"navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog", "menu", "menubar", "toolbar"}
	clutterNames = regexp.MustCompile(`(?i)(?:^|[\s_-])(?:ads?|advert\w*|banner|breadcrumbs?|comments?|consent|cookies?|footer|gdpr|masthead|menu|modal|nav|navbar|navigation|newsletter|overlay|pagination|popup|promo|recommend\w*|related|share|sharing|sidebar|skip|social|sponsor\w*|subscribe)(?:$|[\s_-])`)
)

// isClutter guesses that an element surrounds the content and is no part of it.
func isClutter(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Footer, atom.Dialog, atom.Menu, atom.Form:
		return true
	case atom.Main, atom.Article, atom.Body:
		return false
	case atom.Header:
		return !within(n, isArticle) && !within(n, isMain)
	}
	if role := attr(n, "role"); role != "" && slices.Contains(clutterRoles, role) {
		return true
	}
	return clutterNames.MatchString(attr(n, "class")) || clutterNames.MatchString(attr(n, "id"))
}

func isMain(n *html.Node) bool    { return n.DataAtom == atom.Main || attr(n, "role") == "main" }
func isArticle(n *html.Node) bool { return n.DataAtom == atom.Article || attr(n, "role") == "article" }

func isContainer(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Section, atom.Main, atom.Article, atom.Form, atom.Center, atom.Table, atom.Tbody, atom.Tr, atom.Td:
		return true
	}
	return false
}

// find returns the first element, in the order of the page, that is meant.
func find(n *html.Node, meant func(*html.Node) bool) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && meant(d) {
			return d
		}
	}
	return nil
}

// only returns the element that is meant if there is just one.
func only(n *html.Node, meant func(*html.Node) bool) (found *html.Node) {
	for d := range n.Descendants() {
		if d.Type != html.ElementNode || !meant(d) {
			continue
		}
		if found != nil {
			return nil
		}
		found = d
	}
	return found
}

func within(n *html.Node, meant func(*html.Node) bool) bool {
	for a := range n.Ancestors() {
		if meant(a) {
			return true
		}
	}
	return false
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}
