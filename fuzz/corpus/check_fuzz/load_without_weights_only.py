import torch

def resume(solver, path, model_path):
    package = torch.load(path, map_location="cpu")
    solver.model.load_state_dict(package["state"])
    solver.history = package["history"]
    fields = torch.load(path + ".vocab")
    return fields, torch.load(model_path, map_location="cpu")
