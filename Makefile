# Thin lines over tasks.py, which works without make too: python3 tasks.py book
PYTHON ?= python3
PORT ?= 8000

.PHONY: help book test serve tables check lab bench train clean setup
.DEFAULT_GOAL := help

help:
	@echo 'make book             execute all chapters, check all tables, write _build/html'
	@echo 'make test             run the tests'
	@echo 'make serve            show the built site at http://localhost:8000 (PORT=8001 for another port)'
	@echo 'make tables           recompute every table, print each changed cell (ACCEPT=1 writes them)'
	@echo 'make check            lint, tests, tables, strict build and checks of the site'
	@echo 'make lab              open the chapters as notebooks in JupyterLab'
	@echo 'make bench            run the long tests and benchmarks'
	@echo 'make train            train the small models of the convergence chapter (resumable, about an hour)'
	@echo 'make clean            remove _build'
	@echo 'PYTHON=python3.12 chooses another Python (3.11 or newer)'

book test check lab bench train clean setup:
	@"$(PYTHON)" tasks.py $@

serve:
	@"$(PYTHON)" tasks.py serve --port "$(PORT)"

tables:
	@"$(PYTHON)" tasks.py tables $(if $(filter 1 yes true,$(ACCEPT)),--accept)
