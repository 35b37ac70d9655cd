package skill

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe/markup"
)

// A header is what the top of a skill file says.
type header struct {
	name, description, category string
	license                     string
	allowed, requires           []mention
	// The body begins after so many bytes, on this line.
	length, line int
}

// errLongHeader is a header whose end is not in sight.
var errLongHeader = errors.New("the front matter does not end within 64 KiB")

// readTop reads as much of a file as its header takes, and not much more.
func readTop(r io.Reader) ([]byte, error) {
	var top []byte
	for size := 4 << 10; size <= maxHeader; size *= 4 {
		more := make([]byte, size-len(top))
		n, err := io.ReadFull(r, more)
		top = append(top, more[:n]...)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return top, nil
		}
		if err != nil {
			return nil, err
		}
		// The last line may go on: "---" may be the beginning of "--- | ---".
		whole := top[:bytes.LastIndexByte(top, '\n')+1]
		if found, _, _ := markup.FrontMatter(whole); found != nil || !opensMatter(top) {
			return whole, nil
		}
	}
	return nil, errLongHeader
}

func opensMatter(top []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(top, []byte("\uFEFF")), []byte{'\n'})
	return string(bytes.TrimRight(first, " \t\r")) == "---"
}

// parseHeader reads the top of a file. The folder is the name of the one that a
// SKILL.md is in, and empty for a single file, which the standard says nothing
// about. There is no header where the file cannot be used; the findings say why.
func parseHeader(file, folder string, top []byte) (*header, []Finding) {
	front, body, line := markup.FrontMatter(top)
	if front == nil {
		return parsePlain(file, folder, top)
	}
	m, ok := readMatter(file, front)
	if !ok {
		return nil, m.findings
	}
	if folder != "" {
		m.checkStandard(folder)
	}
	h := &header{
		name:        oneLine(cmp.Or(m.text("name"), m.text("label"))),
		description: oneLine(m.text("description")),
		category:    category(cmp.Or(m.text("category"), scalar(m.entry("metadata", "category")))),
		license:     oneLine(m.text("license")),
		allowed:     words(m.fields["allowed-tools"], 0),
		requires:    append(words(m.fields["requires"], 0), words(m.entry("metadata", "requires"), 1)...),
		length:      len(top) - len(body), line: line,
	}
	if missing := h.missing(file, folder, m.line("name"), m.line("description")); missing != nil {
		return nil, append(m.findings, missing...)
	}
	return h, m.findings
}

// missing tells of what every skill must have, in a header of any form.
func (h *header) missing(file, folder string, nameLine, descriptionLine int) []Finding {
	var found []Finding
	if h.name == "" && folder != "" {
		found = append(found, problem(CodeName, file, nameLine, "the skill has no name; add name: %s", folder))
	} else if h.name == "" {
		found = append(found, problem(CodeName, file, nameLine, "the skill has no label; begin the file with label: and description:"))
	}
	if h.description == "" {
		found = append(found, problem(CodeDescription, file, descriptionLine,
			"the skill has no description; say what it does and when to use it, for agents choose by it"))
	}
	return found
}

// plainField is a line such as "Label: flaky-tests" or "- **Description:** How to ...".
var plainField = regexp.MustCompile(`(?i)^(?:#+ +|[-*] +)?[*_]{0,2}(label|name|description|category)[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*(.*?)$`)

// parsePlain reads a header without front matter: a title perhaps, then a line for
// each field. A description may go on over further lines.
func parsePlain(file, folder string, top []byte) (*header, []Finding) {
	if opensMatter(top) {
		return nil, []Finding{problem(CodeFrontMatter, file, 1, "the front matter is not closed; end it with a line ---")}
	}
	fields := make(map[string]string)
	at, number, open := 0, 0, ""
	h := &header{line: 1}
lines:
	for line := range bytes.Lines(top) {
		at += len(line)
		number++
		text := strings.TrimSpace(strings.TrimPrefix(string(line), "\uFEFF"))
		m := plainField.FindStringSubmatch(text)
		switch isTitle := strings.HasPrefix(text, "#"); {
		case m != nil:
			open = strings.ToLower(m[1])
			fields[open] = m[2]
			if isTitle {
				open = ""
			}
		case text == "" || isTitle && len(fields) == 0:
			open = ""
			continue
		case open == "description" && !isTitle:
			fields[open] += " " + text
		default:
			break lines
		}
		h.length, h.line = at, number+1
	}
	h.name = oneLine(cmp.Or(fields["label"], fields["name"]))
	h.description, h.category = oneLine(fields["description"]), category(fields["category"])
	var found []Finding
	if folder != "" || len(fields) == 0 {
		found = append(found, problem(CodeFrontMatter, file, 1, "the skill has no front matter; begin the file with ---, name, description and ---"))
	}
	if len(fields) == 0 {
		return nil, found
	}
	if missing := h.missing(file, folder, 1, 1); missing != nil {
		return nil, append(found, missing...)
	}
	return h, found
}

// oneLine makes of a value what fits into a list: a line of UTF-8 in which nothing
// is there for a terminal to obey.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// category gives all spellings of a category one form.
func category(s string) string { return strings.Trim(strings.ToLower(oneLine(s)), "/") }
