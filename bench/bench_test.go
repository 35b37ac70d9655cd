package main

import (
	"errors"
	"testing"
)

func TestEveryContenderDoesEveryRow(t *testing.T) {
	for _, row := range rows() {
		for _, entry := range entries() {
			t.Run(row.name+"/"+entry.name, func(t *testing.T) {
				do, err := row.prep(entry)
				if reason, ok := errors.AsType[notOffered](err); ok {
					t.Skip(reason)
				}
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := do(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

func TestWrongResultFailsEveryContender(t *testing.T) {
	for _, entry := range entries() {
		t.Run(entry.name, func(t *testing.T) {
			s := newScript(2, 2)
			s.turns[1][0].sum++
			s.turns[1][0].result = `{"sum":0}`
			do, err := entry.ask(s)
			if err != nil {
				t.Fatal(err)
			}
			if do(t.Context()) == nil {
				t.Error("a wrong result of the tool went unnoticed")
			}
		})
	}
}

func TestWrongPieceFailsEveryContender(t *testing.T) {
	for _, entry := range entries() {
		t.Run(entry.name, func(t *testing.T) {
			s := newScript(0, 0).inPieces(3)
			s.pieces[1] = "something else"
			do, err := entry.stream(s)
			if err != nil {
				t.Fatal(err)
			}
			if do(t.Context()) == nil {
				t.Error("a wrong piece went unnoticed")
			}
		})
	}
}

func BenchmarkRows(b *testing.B) {
	for _, row := range rows() {
		for _, entry := range entries() {
			b.Run(row.name+"/"+entry.name, func(b *testing.B) {
				do, err := row.prep(entry)
				if reason, ok := errors.AsType[notOffered](err); ok {
					b.Skip(reason)
				}
				if err != nil {
					b.Fatal(err)
				}
				if err := repeat(b, do); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
