package edit

import (
	"strings"
	"unicode/utf8"
)

// modeOf keeps a file's mode unless another one is asked for.
func modeOf(asked, old string) string {
	switch strings.TrimPrefix(asked, "0") {
	case "755", "100755":
		return "100755"
	case "644", "100644":
		return "100644"
	}
	if old != "" {
		return old
	}
	return "100644"
}

// IsText reports whether a content is text.
func IsText(content string) bool {
	return utf8.ValidString(content) && !strings.Contains(content[:min(len(content), 8000)], "\x00")
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// keepForm gives a new content the byte-order mark, line ends and final newline that
// the file has.
func keepForm(content, old string) string {
	const mark = "\ufeff"
	content = strings.TrimPrefix(content, mark)
	content = withLineEnds(content, old)
	if old != "" && content != "" {
		switch end := strings.HasSuffix(old, "\n"); {
		case end && !strings.HasSuffix(content, "\n"):
			content += withLineEnds("\n", old)
		case !end && lineCount(old) > 0:
			content = strings.TrimRight(content, "\r\n")
		}
	}
	if strings.HasPrefix(old, mark) {
		content = mark + content
	}
	return content
}
