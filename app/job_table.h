#ifndef WEIR_APP_JOB_TABLE_H
#define WEIR_APP_JOB_TABLE_H

/* Jobs by name: those that ship, and plug-ins by their path. Threads: start-up only. */

#include "weir/job.h"

#include <stddef.h>

/* The job called name ("wordcount", "./job.so"); NULL after setting why. */
weir_job_fn weir_job_lookup(const char *name, void **plugin, char own_name[static 128], char *why,
			    size_t why_cap);

#endif /* WEIR_APP_JOB_TABLE_H */
