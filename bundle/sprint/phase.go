package sprint

import (
	"strings"
	"unicode"
)

// A Phase is where a piece of work stands, whatever a team calls it.
type Phase string

// The phases of work. Unknown is a state in words that nobody here knows: it is shown as
// it is written.
const (
	Unknown    Phase = ""
	Backlog    Phase = "backlog"
	Draft      Phase = "draft" // written, and not yet agreed to: nobody may begin with it
	Ready      Phase = "ready"
	InProgress Phase = "in progress"
	Review     Phase = "review"
	Done       Phase = "done"
	Blocked    Phase = "blocked"
	Dropped    Phase = "dropped"
	Optional   Phase = "optional"
)

// words are what people write for the phases. The longest with which a state begins
// counts: "ready for review" is not ready.
var words = map[Phase][]string{
	Backlog: {
		"backlog", "pending", "not started", "new", "open", "todo", "to do", "proposed", "idea",
		"à faire", "a faire", "en attente", "pendiente", "por hacer", "pendente", "a fazer", "бэклог", "не начат", "ожида", "待办", "未开始", "待处理", "待开发", "offen", "geplant",
	},
	Draft: {"draft", "drafted", "brouillon", "borrador", "rascunho", "черновик", "草稿", "entwurf"},
	Ready: {
		"ready", "ready for dev", "dispatch ready", "ready for development", "approved", "planned", "scheduled", "selected", "contexted",
		"prêt", "pret", "approuvé", "listo", "lista", "aprobad", "pronto", "pronta", "aprovad", "готов к", "готова к", "одобрен",
		"就绪", "准备就绪", "已批准", "bereit",
	},
	InProgress: {
		"in progress", "inprogress", "in dev", "in development", "wip", "doing", "started", "active", "ongoing", "developing", "implementing", "rework", "changes requested",
		"en cours", "en progreso", "en curso", "em andamento", "em progresso", "em desenvolvimento", "в работе", "в процессе", "в разработке", "进行中", "开发中", "in arbeit",
	},
	Review: {
		"review", "in review", "ready for review", "code review", "needs review", "under review", "qa", "in qa", "testing", "in testing", "validation", "awaiting approval",
		"revue", "en revue", "à revoir", "en relecture", "revisión", "revision", "en revisión", "em revisão", "revisão", "на ревью", "ревью", "на проверке", "проверк", "тестирован",
		"评审", "审查", "待审", "审核", "测试中", "prüfung",
	},
	Done: {
		"done", "complete", "completed", "finished", "closed", "merged", "shipped", "deployed", "released", "accepted", "included", "resolved", "implemented", "passed",
		"terminé", "termine", "fini", "fait", "livré", "terminad", "hecho", "hecha", "completad", "finalizad", "concluíd", "concluid", "feito", "feita", "entregue",
		"готово", "готов", "готова", "сделан", "выполнен", "заверш", "закрыт", "完成", "已完成", "已关闭", "已发布", "erledigt", "fertig", "abgeschlossen",
	},
	Blocked: {
		"blocked", "on hold", "needs clarification", "needs info", "waiting", "stuck", "paused", "bloqué", "bloqueado", "bloqueada", "en pausa", "заблокирован", "приостановлен", "阻塞", "暂停", "blockiert",
	},
	Dropped: {
		"cancelled", "canceled", "dropped", "deferred", "skipped", "superseded", "obsolete", "wontfix", "won't do", "deprecated", "duplicate", "retired", "removed", "archived", "descoped", "moved",
		"annulé", "reporté", "abandonné", "cancelado", "cancelada", "descartad", "aplazad", "adiad", "отменен", "отменён", "отложен", "取消", "已取消", "推迟", "abgebrochen", "verschoben",
	},
	Optional: {"optional", "optionnel", "opcional", "необязательн", "可选"},
}

// marks are what people put in the place of words.
var marks = map[string]Phase{"✅": Done, "✔": Done, "☑": Done, "[x]": Done, "🚧": InProgress, "🔄": InProgress, "👀": Review, "⛔": Blocked, "🚫": Blocked, "❌": Dropped, "⏸": Blocked, "[ ]": Backlog}

// PhaseOf says what a state means.
func PhaseOf(state string) Phase {
	text := strings.ToLower(strings.TrimSpace(state))
	plain := strings.TrimSpace(strings.TrimLeftFunc(strings.NewReplacer("-", " ", "_", " ", "*", "", "`", "").Replace(text), func(r rune) bool {
		return !unicode.IsLetter(r)
	}))
	found, longest := Unknown, 0
	for phase, list := range words {
		for _, word := range list {
			if len(word) > longest && strings.HasPrefix(plain, word) && endsWord(plain, word) {
				found, longest = phase, len(word)
			}
		}
	}
	if found != Unknown {
		return found
	}
	for mark, phase := range marks {
		if strings.HasPrefix(text, mark) {
			return phase
		}
	}
	return Unknown
}

// endsWord says whether a word that a text begins with ends there. The stems of languages
// that bend their words need not.
func endsWord(text, word string) bool {
	rest := text[len(word):]
	if rest == "" || word[len(word)-1] >= 0x80 {
		return true
	}
	next := []rune(rest)[0]
	return !unicode.IsLetter(next) || strings.HasSuffix(word, "ad") || strings.HasSuffix(word, "id") || strings.HasSuffix(word, "íd")
}
