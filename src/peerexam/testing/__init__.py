"""What plug-in authors test their agents with: a server with weather, and a conformance kit."""
