package conditions

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
)

// conditionList is the conditions of one object at one generation.
type conditionList struct {
	generation int64
	conditions []metav1.Condition
}

func (l *conditionList) setCondition(kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	l.conditions = append(l.conditions, metav1.Condition{
		Type: kind, Status: status, ObservedGeneration: l.generation, Reason: reason, Message: message,
	})
}

// maxMessage is the most that a condition's message may hold (metav1.Condition), less some room.
const maxMessage = 32000

// errorsOn joins the errors on a condition: the first one's reason, every one's message. None: reason "".
func errorsOn(findings []model.Finding, condition string) (reason, message string) {
	var lines []string
	for _, f := range findings {
		if f.Condition != condition || f.Severity != model.Error {
			continue
		}
		if reason == "" {
			reason = f.Reason
		}
		lines = append(lines, f.Describe())
	}
	return reason, truncate(strings.Join(lines, "; "))
}

func truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + " ..."
}
