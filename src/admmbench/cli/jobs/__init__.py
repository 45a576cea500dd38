"""Commands that rules of the workflow alone call, each as ``python -m admmbench.cli.jobs.NAME``.

`admmbench.jobs` is another room: runs reach it, so it knows nothing of studies, results and reports, which these call.
"""
