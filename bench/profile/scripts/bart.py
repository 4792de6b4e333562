import torch
from transformers import BartConfig, BartForConditionalGeneration

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
sizes = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
sizes |= {"vocab_size": 128, "d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
model = BartForConditionalGeneration(BartConfig(**sizes, max_position_embeddings=64)).half().eval().to(device)
ids, mask = torch.randint(3, 128, (4, 16), device=device), torch.ones(4, 16, dtype=torch.long, device=device)
with torch.no_grad():
    print(
        model(input_ids=ids, attention_mask=mask, decoder_input_ids=torch.full((4, 1), 2, device=device)).logits.shape
    )
