"""An exam from file to results: set up, run or resume, finish.

Begin with `runner`; `setup` builds what it needs, `loop` takes the questions through, `finishing`
writes standings. `rejudge_and_add` goes on with a finished run. `folder/` guards the files.
"""
