"""The commands round an exam: init, validate, plan, run, rejudge, add, show, report, export."""
