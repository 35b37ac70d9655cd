package knowledge

import (
	"fmt"
	"testing"
)

// A document of 20 KB, on disk and indexed.
func BenchmarkUpload(b *testing.B) {
	base, _ := newBase(b)
	content := filler(1, 90)[:20_000]
	b.SetBytes(int64(len(content)))
	for i := 0; b.Loop(); i++ {
		mustUpload(b, base, Document{Name: fmt.Sprintf("%d.md", i), Content: content})
	}
}

func BenchmarkQueryOverAThousandDocuments(b *testing.B) {
	base, _ := newBase(b)
	fill(b, base, 1000, 10)
	mustUpload(b, base, Document{Name: "plan.md", Content: "# Plan\n\n## Step 2\n\nIssue a cookie after the password was verified.\n"})
	for _, question := range []string{"password cookie", "What is step 2 of the plan for the login of a user?"} {
		b.Run(question, func(b *testing.B) {
			for b.Loop() {
				if found := mustQuery(b, base, question); len(found) == 0 {
					b.Fatal("nothing is found")
				}
			}
		})
	}
}
