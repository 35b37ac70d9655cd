package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project/internal/config"
)

func TestAFlowThatMakesNoSenseIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"flows:\n  f:\n    sequence: [a]\n    parallel: [b]\n":                        "3: flows.f has one of sequence, parallel, team, group_chat, loop, agent, not sequence and parallel at once",
		"flows:\n  f:\n    description: x\n":                                          "3: flows.f has one of sequence,",
		"flows:\n  f:\n":                                                              "2: flows.f says nothing",
		"flows:\n  f:\n    sequence: [a]\n    max_handoffs: 3\n":                      "4: flows.f: max_handoffs goes with team, not with sequence",
		"flows:\n  f:\n    sequence: []\n":                                            "3: flows.f.sequence has no parts",
		"flows:\n  f:\n    parallel: [a, b]\n    policy: quorum\n":                    `4: unknown key "policy" in flows.f; policy is now quorum: how many successes are enough`,
		"flows:\n  f:\n    parallel: [a, b]\n    at_once: 2\n":                        `4: unknown key "at_once" in flows.f; at_once is now max_parallel`,
		"flows:\n  f:\n    sequence: [a, b]\n    on_error: continue\n":                `4: unknown key "on_error" in flows.f; on_error is now continue_on_error: true or false`,
		"flows:\n  f:\n    parallel: [a, b]\n    quorum: 3\n":                         "4: flows.f: a quorum of 3 successes is not possible with 2 parts",
		"flows:\n  f:\n    loop: a\n":                                                 "3: flows.f: a loop needs either check",
		"flows:\n  f:\n    group_chat: [a]\n    plan: true\n":                         "4: flows.f: a plan needs a manager",
		"flows:\n  f:\n    agent: a\n":                                                "3: flows.f: an agent on its own is no flow",
		"flows:\n  f:\n    team: [a, b]\n    max_handoffs: -1\n":                      "4: flows.f.max_handoffs is not negative",
		"flows:\n  f:\n    sequence:\n      - a\n      - {paralel: [b]}\n":            `5: unknown key "paralel" in flows.f.sequence; did you mean parallel?`,
		"flows:\n  f:\n    sequence:\n      - a\n      - {parallel: [b], turns: 2}\n": "5: flows.f.sequence: turns goes with group_chat, not with parallel",
		"flows:\n  f:\n    sequence: [a, \"\"]\n":                                     "3: flows.f: a part is the name of an agent or a flow",
		"web: {search: {engine: searxng}}\n":                                          "1: web.search.base_url says where",
		"approve:\n  - {tool: x}\n":                                                   "1: rule 1 of approve needs both tool and do",
	} {
		_, err := config.Parse("troupe.yaml", []byte(text), environment)
		problems, ok := errors.AsType[config.Problems](err)
		if !ok || !strings.Contains(problems[0].Error(), "troupe.yaml:"+want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestTheSchemaLetsFlowsHoldFlows(t *testing.T) {
	if !strings.Contains(config.Schema, `"$ref": "#/$defs/flow"`) {
		t.Error("it does not")
	}
}
