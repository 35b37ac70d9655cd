package edit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	blockOpens = regexp.MustCompile(`^<<<([A-Za-z][\w.-]{0,63})[ \t]*\r?$`)
	blockUsed  = regexp.MustCompile(`\{\s*"block"\s*:\s*"([A-Za-z][\w.-]{0,63})"\s*\}`)
)

// Blocks puts the texts of blocks into the JSON that refers to them: {"block": "b1"}
// becomes the text between the lines <<<b1 and >>>b1. A text without blocks comes back
// as it is. It fails where a block is missing, opened twice, or not closed.
func Blocks(answer string) (string, error) {
	if !strings.Contains(answer, "<<<") && !strings.Contains(answer, `"block"`) {
		return answer, nil
	}
	blocks, rest, err := cutBlocks(answer)
	if err != nil {
		return "", err
	}
	missing := ""
	rest = blockUsed.ReplaceAllStringFunc(rest, func(use string) string {
		name := blockUsed.FindStringSubmatch(use)[1]
		text, ok := blocks[name]
		if !ok {
			missing = name
			return use
		}
		data, _ := json.Marshal(text) // of a string it cannot fail
		return string(data)
	})
	if missing != "" {
		return "", fmt.Errorf("the block %s is named and not there: after the JSON object come the lines <<<%s, the text and >>>%s", missing, missing, missing)
	}
	return rest, nil
}

// cutBlocks takes the blocks out of a text. The last newline of a block is part of it.
func cutBlocks(answer string) (blocks map[string]string, rest string, err error) {
	blocks = map[string]string{}
	var kept, block strings.Builder
	name := ""
	for line := range strings.Lines(answer) {
		if name == "" {
			if m := blockOpens.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				if name = m[1]; blocks[name] != "" {
					return nil, "", fmt.Errorf("the block %s is there twice", name)
				}
				block.Reset()
				continue
			}
			kept.WriteString(line)
			continue
		}
		if m := blockOpens.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && m[1] == name {
			// An answer that was begun anew in the midst of a block.
			return nil, "", fmt.Errorf("the block %s is opened a second time before it is closed", name)
		}
		if strings.TrimRight(line, " \t\r\n") == ">>>"+name {
			blocks[name] = block.String()
			name = ""
			continue
		}
		block.WriteString(line)
	}
	if name != "" {
		return nil, "", fmt.Errorf("the block %s is not closed by a line >>>%s", name, name)
	}
	return blocks, kept.String(), nil
}
