package rehearsal

import "sync"

// maxRemembered is how many texts of a kind are remembered.
const maxRemembered = 128

// A memory holds what was read of texts. It may be used concurrently, and its zero value is ready.
type memory struct {
	mu       sync.Mutex
	parts    map[string]part
	programs map[string]*program
	steps    map[string]nextFile
	results  map[string]result
	layouts  map[string]blueprint
}

// A nextFile is the step that another one leads to, and its name as it is written there.
type nextFile struct{ file, written string }

// stepAfter returns the step that the one in a file leads to.
func (m *memory) stepAfter(source, file string) (joined, written string) {
	next := remembered(m, &m.steps, file+"\x00"+source, func(string) nextFile {
		joined, written := stepAfter(source, file)
		return nextFile{joined, written}
	})
	return next.file, next.written
}

// part returns what a prompt says.
func (m *memory) part(prompt string) part {
	return remembered(m, &m.parts, prompt, readPart)
}

// result returns what a tool has said.
func (m *memory) result(text string) result {
	return remembered(m, &m.results, text, readResult)
}

// blueprint returns the sections of a template.
func (m *memory) blueprint(source string) blueprint {
	return remembered(m, &m.layouts, source, readBlueprint)
}

// program returns the instructions in a text, to be played from their beginning.
func (m *memory) program(source string) *program {
	return remembered(m, &m.programs, source, readProgram).fresh()
}

// remembered reads a text, unless it was read before.
func remembered[T any](m *memory, known *map[string]T, text string, read func(string) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := (*known)[text]
	if ok {
		return value
	}
	value = read(text)
	if *known == nil || len(*known) == maxRemembered {
		*known = make(map[string]T)
	}
	(*known)[text] = value
	return value
}
