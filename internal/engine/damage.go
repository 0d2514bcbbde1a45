package engine

// What a world keeps can be damaged. A run whose log cannot be read is blocked as that is found; here is the same for what waits beside the log: mail, and
// tasks, which any worker may take.

import (
	"strings"

	"github.com/stepwell/stepwell/world"
)

// damagedTask is what the delivery begins with that tells a run of a task which nobody can run.
const damagedTask = "damaged:"

// damage says why mail cannot be appended, as it, or a task that it tells of, is not what was written; "": it can.
func damage(state *world.State, mail *world.Mail) string {
	if mail.Damage != "" {
		return mail.Damage
	}
	if !strings.HasPrefix(mail.ID, damagedTask) || len(mail.Events) == 0 {
		return ""
	}
	e := &mail.Events[len(mail.Events)-1]
	if e.Type != world.StepFailed || e.Error == nil || state.Step(e.ID) == nil {
		return ""
	}
	return e.Error.Message
}

// refuseDamaged gives up a task of which nobody knows what it was: its run is told, and blocked by that. Its step slot is free again.
func (e *Engine) refuseDamaged(t *world.Task) {
	defer e.steps.release(1)
	tellDamaged(e, t)
}

// tellDamaged tells the run of a task which nobody can run.
func tellDamaged(e *Engine, t *world.Task) {
	why := "the task of step " + t.Step + ": " + t.Damage
	e.cfg.Logger.Error("a task is damaged", "run_id", t.Run, "step.id", t.Step, "err", t.Damage)
	d := e.taskDelivery(t)
	d.ID = damagedTask + d.ID
	d.Events = []world.Event{{
		Type: world.StepFailed, ID: t.Step, OccurredAt: e.clock.now(), Error: &world.Error{Message: why, Code: world.CodeCorrupt, Permanent: true},
	}}
	_ = e.deliverTask(d)
}
