"""/v1/models: what is served here."""

from __future__ import annotations

import uuid
from typing import Any

from fastapi import APIRouter

from dragoman.server.services import Services


def router(services: Services) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.get("/v1/models")
    async def models() -> dict[str, Any]:
        """Each name of the model, in the shape that vLLM gives."""
        names = services.model.config.served_model_names
        return {"object": "list", "data": [_card(services, name) for name in names]}

    return routes


def _card(services: Services, name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": services.created,
        # Clients tell a vLLM-compatible server by it.
        "owned_by": "vllm",
        "root": services.options.model.model,
        "parent": None,
        "max_model_len": services.model.config.max_model_len,
        "permission": [
            {
                "id": f"modelperm-{uuid.uuid4().hex}",
                "object": "model_permission",
                "created": services.created,
                "allow_create_engine": False,
                "allow_sampling": True,
                "allow_logprobs": True,
                "allow_search_indices": False,
                "allow_view": True,
                "allow_fine_tuning": False,
                "organization": "*",
                "group": None,
                "is_blocking": False,
            }
        ],
    }
