package agent

import "fmt"

// Limit names a limit.
type Limit string

// The limits.
const (
	LimitTurns  Limit = "turns"
	LimitTokens Limit = "tokens"
	LimitCost   Limit = "cost"
	LimitAnswer Limit = "answer" // of one answer, as the parameters of the adapter say it, or the model has it
)

// LimitError says which limit an agent has reached. The error of a run has it for errors.As with this among the definitions:
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

// Code is the code of a run that failed of it.
func (e *LimitError) Code() string { return "AGENT_LIMIT" }
