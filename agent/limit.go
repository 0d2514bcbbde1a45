package agent

import "fmt"

// Limit names a limit of an agent.
type Limit string

// Limits.
const (
	// [Options].MaxTurns
	LimitTurns Limit = "turns"
	// [Options].MaxTokens
	LimitTokens Limit = "tokens"
	// [Options].MaxCost
	LimitCost Limit = "cost"
	// LimitAnswer: the length of one answer, by the adapter's parameters or the model.
	LimitAnswer Limit = "answer"
)

// LimitError says which limit an agent has reached. To find it in the error of a run with
// errors.As, add this to the definitions:
//
//	stepwell.KnownErrorType[*agent.LimitError]("agent.LimitError")
type LimitError struct {
	Limit Limit `json:"limit"`
	Spent Spent `json:"spent"`
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("agent: the limit of %s is reached after %d turns and %d tokens", e.Limit, e.Spent.Turns,
		e.Spent.Usage.Total())
	if e.Spent.Cost > 0 {
		s += fmt.Sprintf(", which cost %.4f", e.Spent.Cost)
	}
	return s
}

// Code returns the error code of a run that fails with it.
func (e *LimitError) Code() string { return "AGENT_LIMIT" }
