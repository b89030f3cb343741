#ifndef WEIR_STATEBACKEND_BACKEND_H
#define WEIR_STATEBACKEND_BACKEND_H

/* The contract that the backends in this folder fulfil stands where its callers are. */
#include "engine/state/backend.h"

#endif /* WEIR_STATEBACKEND_BACKEND_H */
