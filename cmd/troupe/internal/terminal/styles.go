package terminal

import (
	"charm.land/glamour/v2/ansi"
	"charm.land/lipgloss/v2"
)

// styles are how the parts of a conversation look. Only the sixteen colours are
// used that every terminal has and its owner has chosen.
type styles struct {
	user, dim, bad, chosen, title lipgloss.Style
	markdown                      ansi.StyleConfig
}

func colourful() styles {
	return styles{
		user:     lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
		dim:      lipgloss.NewStyle().Faint(true),
		bad:      lipgloss.NewStyle().Foreground(lipgloss.Red),
		chosen:   lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
		title:    lipgloss.NewStyle().Bold(true),
		markdown: markdownStyle(true),
	}
}

func plain() styles { return styles{markdown: markdownStyle(false)} }

// markdownStyle says how markdown is laid out, with colours and faces or without.
func markdownStyle(isColourful bool) ansi.StyleConfig {
	yes, one, two := true, uint(1), uint(2)
	bar, heading, code, link := "│ ", "6", "3", "4"
	face := func(on ansi.StylePrimitive, off ansi.StylePrimitive) ansi.StylePrimitive {
		if isColourful {
			return on
		}
		return off
	}
	block := func(p ansi.StylePrimitive) ansi.StyleBlock { return ansi.StyleBlock{StylePrimitive: p} }
	level := func(prefix string) ansi.StyleBlock { return block(ansi.StylePrimitive{Prefix: prefix}) }
	headings := face(ansi.StylePrimitive{BlockSuffix: "\n", Color: &heading, Bold: &yes}, ansi.StylePrimitive{BlockSuffix: "\n"})
	return ansi.StyleConfig{
		BlockQuote:     ansi.StyleBlock{Indent: &one, IndentToken: &bar},
		List:           ansi.StyleList{LevelIndent: 2},
		Heading:        block(headings),
		H1:             level("# "),
		H2:             level("## "),
		H3:             level("### "),
		H4:             level("#### "),
		H5:             level("##### "),
		H6:             level("###### "),
		Strikethrough:  face(ansi.StylePrimitive{CrossedOut: &yes}, ansi.StylePrimitive{BlockPrefix: "~~", BlockSuffix: "~~"}),
		Emph:           face(ansi.StylePrimitive{Italic: &yes}, ansi.StylePrimitive{BlockPrefix: "*", BlockSuffix: "*"}),
		Strong:         face(ansi.StylePrimitive{Bold: &yes}, ansi.StylePrimitive{BlockPrefix: "**", BlockSuffix: "**"}),
		HorizontalRule: ansi.StylePrimitive{Format: "\n────────\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		Link:           face(ansi.StylePrimitive{Color: &link, Underline: &yes}, ansi.StylePrimitive{}),
		ImageText:      ansi.StylePrimitive{Format: "Image: {{.text}}"},
		Code:           block(face(ansi.StylePrimitive{Color: &code}, ansi.StylePrimitive{Prefix: "`", Suffix: "`"})),
		CodeBlock:      ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{StylePrimitive: face(ansi.StylePrimitive{Color: &code}, ansi.StylePrimitive{}), Margin: &two}},
	}
}
