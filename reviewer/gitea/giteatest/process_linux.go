package giteatest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill cmd when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
